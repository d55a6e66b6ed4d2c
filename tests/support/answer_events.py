"""Answers events from standard input through handler.handler, for a model of its own.

One event a line in, one JSON answer a line out:

    FILLMASK_MODEL_DIR=DIR python tests/support/answer_events.py < EVENTS
"""

import json
import sys
from types import SimpleNamespace

import handler


def main() -> None:
    """Each line is one event."""
    context = SimpleNamespace(aws_request_id="test", get_remaining_time_in_millis=lambda: 60_000)
    for line in sys.stdin:
        print(json.dumps(handler.handler(json.loads(line), context)))


if __name__ == "__main__":
    main()
