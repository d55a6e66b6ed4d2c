"""SQS events in, a partial batch response out: the adapter between a queue and the service.

A message is the JSON of a native request with two fields of its own, `operation` and `id`; an SNS
envelope around it is taken off. What happens to a message:

    answered                            done; the result goes to the result queue if there is one
    refused (a permanent error)         with a result queue: done, the error goes there
                                        without: reported, so that the dead-letter queue keeps it
    a transient failure, or a bug       reported, so that SQS delivers it again
    result not accepted                 reported
    little time left                    reported, not started
    after a reported one of its group   reported, not started (FIFO)

The same message gives the same result, byte for byte: `cached` is left out of results, because it
tells about this delivery and not about the answer. Only the id of a message gets into the log.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from fillmask import limits
from fillmask.adapters import Context
from fillmask.errors import FillMaskError, InvalidJson, InvalidRequest, UnreportableError
from fillmask.problem import problem
from fillmask.queue.results import BATCH_ENTRIES, Result, encode
from fillmask.requests import json_text
from fillmask.requests.native import DEFAULT_OPERATION

RESERVE_MS: Final = 2000  # for sending the results that wait, with its retry
UNLIMITED_MS: Final = 2**31  # where there is no context, as in a test of the user's own
ID_CHARACTERS: Final = 256
OPERATION_CHARACTERS: Final = 64

Answer = Callable[[str, object], dict[str, Any]]

log = logging.getLogger("fillmask")


class Results(Protocol):
    """Where answers to messages go: the result queue, or a stand-in on a developer's machine."""

    def send(self, results: Sequence[Result]) -> set[str]:
        """The message ids whose results were not accepted."""


class Message(NamedTuple):
    """What counts of a record; `group` only where the queue is FIFO."""

    id: str
    group: str | None
    body: object


class QueueAdapter:
    """Answers SQS events; `answer` is (operation, request) -> result and raises FillMaskError."""

    def __init__(
        self, answer: Answer, results: Results | None = None, reserve_ms: int = RESERVE_MS
    ) -> None:
        self._answer = answer
        self._results = results
        self._reserve_ms = reserve_ms

    def recognises(self, event: object) -> bool:
        """Whether this is an event of SQS, an empty one included."""
        records = event.get("Records") if isinstance(event, Mapping) else None
        return isinstance(records, list) and (not records or any(map(_is_of_sqs, records)))

    def answer(self, event: Mapping[str, Any], context: Context | None) -> dict[str, Any]:
        """{"batchItemFailures": [{"itemIdentifier": messageId}, ...]} in the order of the records.

        Raises UnreportableError before anything is done when the failure of some record could not
        be reported.
        """
        messages = _messages(event["Records"])
        batch = _Batch(self._outcome, self._results)
        slowest_ms = before_ms = 0

        for message in messages:
            left_ms = context.get_remaining_time_in_millis() if context else UNLIMITED_MS
            slowest_ms = max(slowest_ms, before_ms - left_ms)
            before_ms = left_ms
            batch.take(message, in_time=left_ms >= self._reserve_ms + slowest_ms)
        batch.send()

        failures = [message.id for message in messages if batch.is_first_report(message.id)]
        log.info("queue: %d records, %d reported", len(messages), len(failures))
        return {"batchItemFailures": [{"itemIdentifier": failure} for failure in failures]}

    def _outcome(self, message: Message) -> str | None:
        """The text of the result, or None when the message must be reported."""
        head: dict[str, Any] = {"id": None, "operation": None}
        try:
            request = _request(message.body)
            head["id"] = _take_id(request)
            head["operation"] = _take_operation(request)
            return _fitting(head, {"result": _stable(self._answer(head["operation"], request))})
        except FillMaskError as error:
            log.warning("queue: message %s: %s", message.id, error.code)
            if self._results is None or error.transient:
                return None
            return encode({**head, "error": problem(error)})
        except Exception as error:  # noqa: BLE001  one message must not take the others down
            # By its type alone: the message of a foreign exception may quote the text.
            log.error("queue: message %s: %s", message.id, type(error).__name__)
            return None


class _Batch:
    """One event on its way: what is reported, which groups are stopped, which results wait."""

    def __init__(self, outcome: Callable[[Message], str | None], results: Results | None) -> None:
        self._outcome = outcome
        self._results = results
        self._reported: set[str] = set()
        self._seen: set[str] = set()
        self._stopped: set[str] = set()
        self._waiting: list[Result] = []

    def take(self, message: Message, in_time: bool) -> None:
        """Answer a message or report it; a second copy of it shares the fate of the first."""
        if message.id in self._seen:
            return
        self._seen.add(message.id)

        # Within a group, nothing is sent before its predecessor has been accepted.
        if message.group and any(message.group == result.group for result in self._waiting):
            self.send()

        may_start = in_time and message.group not in self._stopped
        text = self._outcome(message) if may_start else None
        if text is None:
            self._report(message.id, message.group)
        elif self._results:
            self._waiting.append(Result(message.id, message.group, text))
            if len(self._waiting) == BATCH_ENTRIES:
                self.send()

    def send(self) -> None:
        """Send the results that wait, and report the messages whose result was not accepted."""
        waiting, self._waiting = self._waiting, []
        if not waiting or not self._results:
            return

        refused = self._results.send(waiting)
        for result in waiting:
            if result.message_id in refused:
                log.warning("queue: message %s: result not accepted", result.message_id)
                self._report(result.message_id, result.group)

    def is_first_report(self, message_id: str) -> bool:
        """Whether the message is to be reported and has not been asked for before."""
        reported = message_id in self._reported
        self._reported.discard(message_id)
        return reported

    def _report(self, message_id: str, group: str | None) -> None:
        self._reported.add(message_id)
        if group is not None:
            self._stopped.add(group)


def _is_of_sqs(record: object) -> bool:
    return isinstance(record, Mapping) and record.get("eventSource") == "aws:sqs"


def _messages(records: list[Any]) -> list[Message]:
    messages = []
    for number, record in enumerate(records, 1):
        message_id = record.get("messageId") if isinstance(record, Mapping) else None
        if not isinstance(message_id, str) or not message_id:
            raise UnreportableError(
                f"Record {number} of {len(records)} has no messageId, so its failure could not be "
                "reported; the whole batch is refused, and nothing of it has been processed."
            )
        messages.append(Message(message_id, _group(record), record.get("body")))
    return messages


def _group(record: Mapping[str, Any]) -> str | None:
    # In a standard queue a group (fair queues) says nothing about order.
    if not str(record.get("eventSourceARN", ".fifo")).endswith(".fifo"):
        return None
    attributes = record.get("attributes")
    group = attributes.get("MessageGroupId") if isinstance(attributes, Mapping) else None
    return group if isinstance(group, str) else None


def _request(body: object) -> object:
    if not isinstance(body, str):
        raise InvalidJson("The record has no body.")
    request = json_text.read(body)
    if (
        isinstance(request, dict)
        and request.get("Type") == "Notification"
        and "TopicArn" in request
    ):
        request = json_text.read(str(request.get("Message", "")))
    return request


def _take_id(request: object) -> str | int | None:
    value = request.pop("id", None) if isinstance(request, dict) else None
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, str) and len(value) <= ID_CHARACTERS:
        return value
    raise InvalidRequest.of(
        "id", f"must be a whole number or a string of at most {ID_CHARACTERS} characters"
    )


def _take_operation(request: object) -> str:
    value = (
        request.pop("operation", DEFAULT_OPERATION)
        if isinstance(request, dict)
        else DEFAULT_OPERATION
    )
    if isinstance(value, str) and 0 < len(value) <= OPERATION_CHARACTERS:
        return value
    raise InvalidRequest.of("operation", "must be the name of an operation, for example fill-mask")


def _stable(result: dict[str, Any]) -> dict[str, Any]:
    items = result.get("results")
    if not isinstance(items, list):
        return result
    return {
        **result,
        "results": [{k: v for k, v in item.items() if k != "cached"} for item in items],
    }


def _fitting(head: Mapping[str, Any], outcome: Mapping[str, Any]) -> str:
    text = encode({**head, **outcome})
    size = len(text.encode())
    limits.check("result_bytes", size, "bytes of the result; ask for less in one message")
    return text
