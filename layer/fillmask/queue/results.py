"""The queue that receives the answers to queue messages: encoding, batches, limits, order and a second try.

It knows SQS and nothing of requests. The client is built with the first batch, so that a function without
a result queue never imports the AWS SDK. Sending one batch ends within two seconds, whatever SQS does.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from fillmask import aws, limits

BATCH_ENTRIES: Final = 10
BATCH_BYTES: Final = 1024 * 1024  # of one message, and of all messages of a batch
RESULT_BYTES: Final = limits.MAX_RESULT_BYTES
ATTRIBUTE_BYTES: Final = BATCH_BYTES - RESULT_BYTES  # more than the attributes of one message take
CONNECT_SECONDS: Final = 0.3
READ_SECONDS: Final = 0.6

_NOT_IN_XML = re.compile(
    "[\ud800-\udfff\ufffe\uffff]"
)  # SQS refuses these; JSON escapes control characters


class Result(NamedTuple):
    """One answer on its way: to which message, in which order group (FIFO sources only), as JSON text."""

    message_id: str
    group: str | None
    text: str


class ResultQueue:
    """Sends results to one SQS queue, standard or FIFO."""

    def __init__(self, url: str, connect: Callable[[], Any] | None = None) -> None:
        self._url = url
        self._fifo = url.endswith(".fifo")
        self._connect = connect or build_client

    @cached_property
    def _client(self) -> Any:
        return self._connect()

    def send(self, results: Sequence[Result]) -> set[str]:
        """Send, retry once what was not accepted, and return the message ids that still were not."""
        return {result.message_id for batch in _batches(results) for result in self._deliver(batch)}

    def _deliver(self, batch: list[Result]) -> list[Result]:
        left, refused_whole = self._try(batch)
        if refused_whole and len(batch) > 1:
            # One entry SQS does not like makes it refuse the request, so the others go without it.
            return [result for one in batch for result in self._try([one])[0]]
        return self._try(left)[0] if left else []

    def _try(self, batch: list[Result]) -> tuple[list[Result], bool]:
        """Return what was not accepted, and whether SQS answered that it refuses the batch as a whole."""
        entries = [self._entry(str(number), result) for number, result in enumerate(batch)]
        try:
            answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
        except Exception as error:  # noqa: BLE001  throttled, no credentials, no answer: all passing
            return batch, bool(getattr(error, "response", None))  # time-outs have one too: None
        accepted = {success["Id"] for success in answer.get("Successful", ())}
        return [result for number, result in enumerate(batch) if str(number) not in accepted], False

    def _entry(self, entry_id: str, result: Result) -> dict[str, Any]:
        entry = {
            "Id": entry_id,
            "MessageBody": result.text,
            "MessageAttributes": {
                "message_id": {"DataType": "String", "StringValue": result.message_id}
            },
        }
        if (
            self._fifo
        ):  # a message that is delivered again gives the same result, which SQS then drops
            entry["MessageGroupId"] = result.group or result.message_id
            entry["MessageDeduplicationId"] = result.message_id
        return entry


def encode(body: Mapping[str, Any]) -> str:
    """Return JSON text that SQS takes, the same for equal bodies."""
    text = json.dumps(
        body, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )
    return _NOT_IN_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def build_client() -> Any:
    """An SQS client, whose time-outs leave a batch room for a second try."""
    return aws.client("sqs", connect_seconds=CONNECT_SECONDS, read_seconds=READ_SECONDS)


def _batches(results: Iterable[Result]) -> Iterator[list[Result]]:
    batch: list[Result] = []
    room = BATCH_BYTES
    for result in results:
        size = len(result.text.encode()) + ATTRIBUTE_BYTES
        if batch and (len(batch) == BATCH_ENTRIES or size > room):
            yield batch
            batch, room = [], BATCH_BYTES
        batch.append(result)
        room -= size
    if batch:
        yield batch
