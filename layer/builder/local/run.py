"""One text or one whole event, answered by the Lambda handler in this process."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from builder.local import show
from fillmask.errors import InvalidJson
from fillmask.queue.messages import QueueAdapter
from fillmask.queue.results import Result

SEPARATORS: Final = re.compile(r"[\s,，、/|]+")  # of targets, as on the page
REMAINING_MS: Final = 60_000  # as long as a queue function gets


class Question(NamedTuple):
    """A text and what is wanted of it; without targets (None) the `top_k` best candidates."""

    text: str
    top_k: int
    targets: str | None
    joint: bool

    def request(self) -> dict[str, Any]:
        """As the API takes it."""
        request: dict[str, Any] = {"text": self.text, "top_k": self.top_k}
        if self.targets is not None:
            words = [word for word in SEPARATORS.split(self.targets) if word]
            request["targets"] = words or [""]  # an empty word, which is answered as such
        if self.joint:
            request["mode"] = "joint"
        return request


class Context:
    """What the handler uses of Lambda's context object."""

    aws_request_id = "local"

    def get_remaining_time_in_millis(self) -> int:
        """A constant: nothing ends this process."""
        return REMAINING_MS


class PrintedResults:
    """A result queue that keeps what it is sent, to be printed."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []

    def send(self, results: Sequence[Result]) -> set[str]:
        """Accepts every result."""
        self.bodies += [json.loads(result.text) for result in results]
        return set()


def answer_text(question: Question, *, as_json: bool) -> int:
    """Prints the answer and returns 0, or 1 after the error."""
    import handler  # noqa: PLC0415  (loads the model)

    answer = handler.handler(question.request(), Context())
    if "code" in answer:
        show.refusal(answer, whole=as_json)
        return 1
    if as_json:
        show.whole_json(answer)
    else:
        show.ranking(answer)
    return 0


def answer_event(file: Path) -> int:
    """Prints what the handler returns for the event in a JSON file; for a queue event, the messages
    that the result queue would get as well. Raises InvalidJson, and what the handler raises.
    """
    event = _read(file)
    import handler  # noqa: PLC0415  (loads the model)

    results = PrintedResults()
    queue = QueueAdapter(handler.SERVICE.answer, results)
    if queue.recognises(event):
        response = queue.answer(event, Context())
        show.whole_json({"results": results.bodies, **response})
    else:
        show.whole_json(handler.handler(event, Context()))
    return 0


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InvalidJson(f"{file} is not JSON.") from error
