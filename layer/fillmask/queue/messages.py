"""SQS events in, a partial batch response out: the adapter between a queue and the service.

A message is the JSON of a native request with two fields of its own, `operation` and `id`. An SNS
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
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from fillmask import limits
from fillmask.adapters import Answer, Context, Event, milliseconds_left
from fillmask.errors import FillMaskError, InvalidJson, InvalidRequest, UnreportableError
from fillmask.model import deadline
from fillmask.problem import problem
from fillmask.queue.results import BATCH_ENTRIES, Result, encode
from fillmask.requests import json_text
from fillmask.requests.native import DEFAULT_OPERATION

RESERVE_MS: Final = 2000  # for sending the results that wait, with its retry
ID_CHARACTERS: Final = 256
OPERATION_CHARACTERS: Final = 64

AnswerRequest = Callable[[str, object], Answer]  # of an operation and its request

log = logging.getLogger("fillmask")


class Results(Protocol):
    """Where answers to messages go: the result queue, or a stand-in on a developer's machine."""

    def send(self, results: Sequence[Result]) -> set[str]:
        """The message ids whose results were not accepted."""


class Message(NamedTuple):
    """What is read of a record."""

    id: str
    group: str | None  # only where the queue is FIFO
    body: str | None


class Head(NamedTuple):
    """The members of a result that say what it answers; None until they are known."""

    id: str | int | None = None
    operation: str | None = None


class QueueAdapter:
    """Answers SQS events. `answer_request` raises FillMaskError."""

    def __init__(self, answer_request: AnswerRequest, results: Results | None = None) -> None:
        self._answer_request = answer_request
        self._results = results

    def recognises(self, event: object) -> bool:
        """Whether this is an event of SQS, an empty one included."""
        records = event.get("Records") if isinstance(event, dict) else None
        return isinstance(records, list) and (not records or any(map(_is_of_sqs, records)))

    def answer(self, event: Event, context: Context | None) -> Answer:
        """{"batchItemFailures": [{"itemIdentifier": messageId}, ...]} in the order of the records.

        Raises UnreportableError before anything is done when the failure of some record could not
        be reported.
        """
        messages = _messages(event["Records"])
        batch = _Batch(self._outcome, self._results)
        slowest_ms = before_ms = 0.0

        for message in messages:
            left_ms = milliseconds_left(context)
            if left_ms < before_ms:
                slowest_ms = max(slowest_ms, before_ms - left_ms)
            before_ms = left_ms
            with deadline.within(left_ms - RESERVE_MS):
                batch.take(message, in_time=left_ms >= RESERVE_MS + slowest_ms)
        batch.send()

        # SQS may deliver a message twice in one batch. One report is for both.
        ids = dict.fromkeys(message.id for message in messages)
        failures = [message_id for message_id in ids if message_id in batch.reported]
        log.info("queue: %d records, %d reported", len(messages), len(failures))
        return {"batchItemFailures": [{"itemIdentifier": failure} for failure in failures]}

    def _outcome(self, message: Message) -> str | None:
        """The text of the result, or None when the message must be reported."""
        head = Head()
        try:
            request = _request(message.body)
            own = request if isinstance(request, dict) else {}
            head = head._replace(id=_take_id(own))

            operation = _take_operation(own)
            head = head._replace(operation=operation)

            result = _without_cached(self._answer_request(operation, request))
            return _fitting(encode({**head._asdict(), "result": result}))

        except FillMaskError as error:
            log.warning("queue: message %s: %s", message.id, error.code)
            if self._results is None or error.transient:
                return None
            return encode({**head._asdict(), "error": problem(error)})

        except Exception as error:  # noqa: BLE001  (one message must not take the others down)
            # By its type alone: the message of a foreign exception may quote the text.
            log.error("queue: message %s: %s", message.id, type(error).__name__)
            return None


class _Batch:
    """One event on its way: what is reported, which groups are stopped, which results wait."""

    def __init__(self, outcome: Callable[[Message], str | None], results: Results | None) -> None:
        self.reported: set[str] = set()  # message ids
        self._outcome = outcome
        self._results = results
        self._seen: set[str] = set()
        self._stopped: set[str] = set()
        self._waiting: list[Result] = []

    def take(self, message: Message, in_time: bool) -> None:
        """Answers a message or reports it; a second copy of it shares the fate of the first."""
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
        """Sends the results that wait, and reports the messages whose result was not accepted."""
        waiting, self._waiting = self._waiting, []
        if not waiting or not self._results:
            return

        refused = self._results.send(waiting)
        for result in waiting:
            if result.message_id in refused:
                log.warning("queue: message %s: result not accepted", result.message_id)
                self._report(result.message_id, result.group)

    def _report(self, message_id: str, group: str | None) -> None:
        self.reported.add(message_id)
        if group is not None:
            self._stopped.add(group)


def _is_of_sqs(record: object) -> bool:
    return isinstance(record, dict) and record.get("eventSource") == "aws:sqs"


def _messages(records: list[Any]) -> list[Message]:
    messages = []
    for number, record in enumerate(records, 1):
        message_id = record.get("messageId") if isinstance(record, dict) else None
        if not isinstance(message_id, str) or not message_id:
            raise UnreportableError(
                f"Record {number} of {len(records)} has no messageId, so its failure could not be "
                "reported; the whole batch is refused, and nothing of it has been processed."
            )

        body = record.get("body")
        text = body if isinstance(body, str) else None
        messages.append(Message(message_id, _group(record), text))
    return messages


def _group(record: Event) -> str | None:
    # In a standard queue a group (fair queues) says nothing about order.
    if not str(record.get("eventSourceARN", ".fifo")).endswith(".fifo"):
        return None

    attributes = record.get("attributes")
    group = attributes.get("MessageGroupId") if isinstance(attributes, dict) else None
    return group if isinstance(group, str) else None


def _request(body: str | None) -> object:
    """The JSON value of a message, out of its SNS envelope if it has one. Raises InvalidJson."""
    if body is None:
        raise InvalidJson("The record has no body.")

    value = json_text.read(body)
    if isinstance(value, dict) and value.get("Type") == "Notification" and "TopicArn" in value:
        value = json_text.read(str(value.get("Message", "")))
    return value


def _take_id(own: Event) -> str | int | None:
    """Takes the sender's id out of a request. Raises InvalidRequest."""
    value = own.pop("id", None)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, str) and len(value) <= ID_CHARACTERS:
        return value
    raise InvalidRequest.of(
        "id", f"must be a whole number or a string of at most {ID_CHARACTERS} characters"
    )


def _take_operation(own: Event) -> str:
    """Takes the name of the operation out of a request. Raises InvalidRequest."""
    value = own.pop("operation", DEFAULT_OPERATION)
    if isinstance(value, str) and 0 < len(value) <= OPERATION_CHARACTERS:
        return value
    raise InvalidRequest.of("operation", "must be the name of an operation, for example fill-mask")


def _without_cached(result: Answer) -> Answer:
    items = result.get("results")
    if not isinstance(items, list):
        return result

    stable = [{name: item[name] for name in item if name != "cached"} for item in items]
    return {**result, "results": stable}


def _fitting(text: str) -> str:
    """The text. Raises TooLarge when it is more than a message holds."""
    size = len(text.encode())
    limits.check("result_bytes", size, "bytes of the result; ask for less in one message")
    return text
