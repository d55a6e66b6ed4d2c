"""One warm contestant without the runtime client: events in at standard input, times out.

    python -I -S worker.py TASK OPT RUNTIME

A line in is a JSON list of events; a line on standard output is {"seconds": [...], "session":
[...], "answer": the last answer}. `session` is the part of it inside onnxruntime's
InferenceSession.run, or 0 for engines without one.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


class Context:
    """What handlers use of Lambda's context object."""

    aws_request_id = "bench"

    def get_remaining_time_in_millis(self) -> int:
        """As long as a queue function gets."""
        return 60_000


class SessionClock:
    """Seconds spent inside onnxruntime since `spent` was set to 0."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._watching = False

    def watch(self) -> None:
        """Starts as soon as the handler has imported onnxruntime."""
        module: Any = sys.modules.get("onnxruntime")
        if self._watching or module is None:
            return
        self._watching, run = True, module.InferenceSession.run

        def timed(*arguments: Any, **options: Any) -> Any:
            begun = time.perf_counter()
            try:
                return run(*arguments, **options)
            finally:
                self.spent += time.perf_counter() - begun

        module.InferenceSession.run = timed


def main(task: str, opt: str, runtime: str) -> None:
    """Answers until standard input ends."""
    here = str(Path(__file__).parent)
    sys.path[:] = [task, f"{opt}/python", *(path for path in sys.path if path != here), runtime]

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints must not stand between the answers
    from handler import handler

    clock, context = SessionClock(), Context()
    for line in sys.stdin:
        clock.watch()
        seconds, session, answer = [], [], None
        for event in json.loads(line):
            clock.spent, begun = 0.0, time.perf_counter()
            answer = handler(event, context)
            seconds.append(time.perf_counter() - begun)
            session.append(clock.spent)

        print(
            json.dumps({"seconds": seconds, "session": session, "answer": answer}),
            file=out,
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
