"""The queue that receives the answers to queue messages: encoding, batches, order, a second try.

It knows SQS and nothing of requests. Whatever SQS, the network or the credentials do, sending takes
SEND_SECONDS at most; a late result counts as not accepted, and its message comes again. The client
is built with the first batch, so that a function without a result queue never imports the AWS SDK.
"""

import json
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

from fillmask import aws, limits
from fillmask.adapters import Answer

BATCH_ENTRIES: Final = 10
BATCH_BYTES: Final = 1024 * 1024  # of one message, and of all messages of a batch
RESULT_BYTES: Final = limits.MAX_RESULT_BYTES
ATTRIBUTE_BYTES: Final = BATCH_BYTES - RESULT_BYTES  # more than the attributes of one message take
SEND_SECONDS: Final = 1.8  # of one send(), the client's construction included
CONNECT_SECONDS: Final = 0.3
READ_SECONDS: Final = 0.6

# SQS refuses these; JSON escapes control characters.
_NOT_IN_XML: Final = re.compile("[\ud800-\udfff\ufffe\uffff]")

log = logging.getLogger("fillmask")

Entry = dict[str, Any]  # of a batch, as SQS takes it


class SqsClient(Protocol):
    """What is used of botocore's client."""

    def send_message_batch(self, *, QueueUrl: str, Entries: list[Entry]) -> Answer:  # noqa: N803
        """{"Successful": [{"Id"}, ...], "Failed": [...]}; raises when the whole call fails."""


class Result(NamedTuple):
    """One answer on its way, as JSON text; `group` is the message group of a FIFO source."""

    message_id: str
    group: str | None
    text: str


class ResultQueue:
    """Sends results to one SQS queue, standard or FIFO."""

    def __init__(self, url: str, connect: Callable[[], SqsClient] | None = None) -> None:
        self._url = url
        self._fifo = url.endswith(".fifo")
        self._connect = connect or build_client

    @cached_property
    def _client(self) -> SqsClient:
        return self._connect()

    def send(self, results: Sequence[Result]) -> set[str]:
        """Sends with one retry; the ids of the messages whose results were not accepted."""
        accepted: set[str] = set()

        def deliver_all(deadline: float) -> None:
            for batch in _batches(results):
                self._deliver(batch, accepted, deadline)

        # Work that is left behind may still send. Its messages come again, and SQS promises no
        # more than that a message arrives at least once; in a FIFO queue the second is dropped.
        trouble = aws.trouble(SEND_SECONDS, deliver_all)
        if trouble:
            log.warning("queue: the results were not all sent: %s", trouble)

        return {result.message_id for result in results} - frozenset(accepted)

    def _deliver(self, batch: list[Result], accepted: set[str], deadline: float) -> None:
        """Sends a batch with one retry, and adds what was accepted."""
        left, refused_whole = self._try(batch, accepted, deadline)

        # One entry that SQS does not like makes it refuse the request: the others go without it.
        if refused_whole and len(batch) > 1:
            for result in batch:
                self._try([result], accepted, deadline)
        elif left:
            self._try(left, accepted, deadline)

    def _try(
        self, batch: list[Result], accepted: set[str], deadline: float
    ) -> tuple[list[Result], bool]:
        """What was not accepted, and whether SQS answered that it refuses the whole batch.

        Raises TimeoutError after the deadline.
        """
        if time.monotonic() >= deadline:
            raise TimeoutError

        entries = [self._entry(str(number), result) for number, result in enumerate(batch)]
        try:
            answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
        except Exception as error:  # noqa: BLE001  (whatever it is, it may pass)
            return batch, bool(getattr(error, "response", None))  # time-outs have one too: None

        taken = {success["Id"] for success in answer.get("Successful", ())}
        left = [result for number, result in enumerate(batch) if str(number) not in taken]
        accepted.update(result.message_id for result in batch if result not in left)
        return left, False

    def _entry(self, entry_id: str, result: Result) -> Entry:
        entry: Entry = {
            "Id": entry_id,
            "MessageBody": result.text,
            "MessageAttributes": {
                "message_id": {"DataType": "String", "StringValue": result.message_id}
            },
        }
        # A message that is delivered again gives the same result, which SQS then drops.
        if self._fifo:
            entry["MessageGroupId"] = result.group or result.message_id
            entry["MessageDeduplicationId"] = result.message_id
        return entry


def encode(body: Answer) -> str:
    """JSON text that SQS takes, the same for equal bodies."""
    text = json.dumps(
        body, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )
    return _NOT_IN_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def build_client() -> SqsClient:
    """An SQS client, whose time-outs leave a batch room for a second try."""
    client: SqsClient = aws.client(
        "sqs", connect_seconds=CONNECT_SECONDS, read_seconds=READ_SECONDS
    )
    return client


def _batches(results: Iterable[Result]) -> Iterator[list[Result]]:
    """The results in order, in batches of as many as SQS takes."""
    batch: list[Result] = []
    left_bytes = BATCH_BYTES

    for result in results:
        size = len(result.text.encode()) + ATTRIBUTE_BYTES
        if batch and (len(batch) == BATCH_ENTRIES or size > left_bytes):
            yield batch
            batch, left_bytes = [], BATCH_BYTES
        batch.append(result)
        left_bytes -= size

    if batch:
        yield batch
