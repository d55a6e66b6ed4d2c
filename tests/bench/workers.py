"""The bench's end of worker.py: a handler in a process of its own, loaded once and asked again and
again.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from support import lambda_opt

from .contestants import Contestant
from .events import check

PROVISIONED = {"AWS_LAMBDA_INITIALIZATION_TYPE": "provisioned-concurrency"}
SCRIPT = Path(__file__).with_name("worker.py")


class Times(NamedTuple):
    """Seconds of each event, the part inside onnxruntime, and the last answer."""

    seconds: list[float]
    session: list[float]
    answer: Any


class Worker:
    """A running handler; a context manager."""

    def __init__(self, who: Contestant, environment: Mapping[str, str]) -> None:
        self.name = who.name
        where = who.where
        deployed = lambda_opt.deployed_environment(where, "127.0.0.1:9", "handler.handler")
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed on exit
        self._process = subprocess.Popen(
            [
                where.interpreter.path,
                "-I",
                "-S",
                str(SCRIPT),
                str(where.task),
                str(where.opt),
                str(where.runtime),
            ],
            env={**deployed, **who.environment, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def ask(self, events: Sequence[Any]) -> Times:
        """Answers these events in turn; RuntimeError with the end of its log where it cannot."""
        assert self._process.stdin and self._process.stdout
        try:
            print(json.dumps(events), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._log.seek(0)
            raise RuntimeError(
                f"{self.name} ended: {self._log.read().decode('utf-8', 'replace')[-2000:]}"
            )
        times = Times(**json.loads(line))
        check(times.answer)
        return times

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        self._process.terminate()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._log.close()


@contextmanager
def running(
    contestants: Mapping[str, Contestant],
    names: Sequence[str],
    threads: int,
    warm_up: Any,
    **environment: str,
) -> Iterator[dict[str, Worker]]:
    """Workers of these contestants, each after one answer; who cannot run is named and left out.

    Ours are started as provisioned ones are, with weights packed, as any process of ours ends up.
    """
    with ExitStack() as stack:
        found = {}
        for name in names:
            variables = {**contestants[name].threads(threads), **PROVISIONED, **environment}
            worker = stack.enter_context(Worker(contestants[name], variables))
            try:
                worker.ask([warm_up])
            except RuntimeError as error:
                print(f"bench: {error}", file=sys.stderr)
                continue
            found[name] = worker
        yield found
