"""Shared by the tests of the queue adapter: a service without a model, a result queue, events."""

import json
from collections.abc import Sequence
from typing import Any

from fillmask.errors import NoMask
from fillmask.queue.results import Result
from fillmask.requests.schema import FILL_MASK
from fillmask.requests.validate import validate

Json = dict[str, Any]
GOOD = {"text": "床前明月光，疑是地[MASK]霜。"}


class Answerer:
    """Stands in for the service: validates like it, and answers without a model."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, object]] = []
        self.troubles: dict[str, Exception] = {}

    def __call__(self, operation: str, request: object) -> Json:
        self.calls.append((operation, request))
        wanted = validate(request, FILL_MASK)
        texts: list[str] = wanted["texts"] if "texts" in wanted else [wanted["text"]]
        for index, text in enumerate(texts):
            if text in self.troubles:
                raise self.troubles[text]
            if "[MASK]" not in text:
                raise NoMask(f"Text {index} has no [MASK]", index=index, hint=None)
        known = len(self.calls) > 1
        return {
            "model": {"id": "m"},
            "results": [{"text": text, "cached": known} for text in texts],
        }


class Results:
    """A result queue that keeps what it is sent, and refuses what it is told to."""

    def __init__(self, refuse: Sequence[str] = ()) -> None:
        self.refuse = set(refuse)
        self.sent: list[list[Result]] = []

    def send(self, results: Sequence[Result]) -> set[str]:
        self.sent.append(list(results))
        return self.refuse & {result.message_id for result in results}

    @property
    def bodies(self) -> list[Json]:
        return [json.loads(result.text) for batch in self.sent for result in batch]


class Left:
    """A Lambda context with so much time left: the same always, or each time the next."""

    def __init__(self, *milliseconds: int) -> None:
        self._milliseconds = list(milliseconds)
        self.asked = 0

    aws_request_id = "request"

    def get_remaining_time_in_millis(self) -> int:
        self.asked += 1
        return self._milliseconds.pop(0) if len(self._milliseconds) > 1 else self._milliseconds[0]


plenty = Left(60_000)


def event(*bodies: object, group: str | None = None) -> Json:
    """An SQS event with these bodies as JSON (a string as it is) and message ids m1, m2, ..."""
    return {"Records": [record(f"m{number}", body, group) for number, body in enumerate(bodies, 1)]}


def record(message_id: str, body: object, group: str | None = None) -> Json:
    return {
        "messageId": message_id,
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:requests"
        + (".fifo" if group else ""),
        "attributes": {"MessageGroupId": group} if group else {},
        "body": body if isinstance(body, str) else json.dumps(body),
    }


def failures(answer: Json) -> list[str]:
    assert set(answer) == {"batchItemFailures"}
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def ids(event: Json, *numbers: int) -> list[str]:
    """The message ids of these records, counted from 1."""
    return [event["Records"][number - 1]["messageId"] for number in numbers]
