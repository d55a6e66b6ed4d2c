"""The shared cache in a DynamoDB table. A failing table delays a request once and never fails it.

A call of the client has a short time-out and is tried at most twice; a read or a write as a whole
has a deadline; and after a failure a breaker leaves the table alone for a while. Answers that are
slow count as failures. Nothing here imports the AWS SDK before connect() is called; lazy.py says
when that is.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from fillmask import aws
from fillmask.cache import item
from fillmask.cache.breaker import Breaker

if TYPE_CHECKING:
    from botocore.client import BaseClient

READ_KEYS: Final = 100  # of one BatchGetItem
WRITE_ITEMS: Final = 25  # of one BatchWriteItem

# One try may take a whole time-out, so two tries fit a deadline. A read and a write together stay
# under a second.
TIMEOUT_SECONDS: Final = 0.2
READ_SECONDS: Final = 0.5
WRITE_SECONDS: Final = 0.45

# Mean of the calls of a read or a write. A healthy table takes a tenth of it.
SLOW_CALL_SECONDS: Final = 0.1

# Before each question about what the table left unprocessed, the first question included.
ROUND_WAITS: Final = (0.0, 0.02, 0.04, 0.08)

Answer = dict[str, Any]  # the table's, decoded
Operation = Callable[..., Answer]  # a bound method of the client


class TableCache:
    """A Cache over one table, through a low-level DynamoDB client that threads may share."""

    def __init__(
        self,
        client: "BaseClient",
        table: str,
        ttl_seconds: int,
        clock: Callable[[], float] = time.time,
        breaker: Breaker | None = None,
    ) -> None:
        self._client = client
        self._table = table
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._breaker = breaker or Breaker("The cache table")

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The fresh values by key; on trouble, those that came before it."""
        found: dict[str, bytes] = {}
        if keys:
            distinct = list(dict.fromkeys(keys))
            calls = ceil(len(distinct) / READ_KEYS)
            self._guarded(READ_SECONDS, calls, partial(self._read, distinct, found))
        return dict(found)  # a copy, because work that was given up on may still add to `found`

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Writes the values that fit an item; on trouble, those that came before it."""
        expires = int(self._clock()) + self._ttl_seconds
        packed = [
            item.pack(key, value, expires) for key, value in items.items() if item.fits(key, value)
        ]
        if packed:
            calls = ceil(len(packed) / WRITE_ITEMS)
            self._guarded(WRITE_SECONDS, calls, partial(self._write, packed))

    def close(self) -> None:
        """Closes the client's connections."""
        self._client.close()

    def _guarded(self, seconds: float, calls: int, work: Callable[[float], None]) -> None:
        """Does the work of so many calls and tells the breaker how it went, unless that is open."""
        if not self._breaker.allows():
            return

        start = time.monotonic()
        trouble = aws.trouble(seconds, work)

        if trouble:
            self._breaker.failed(trouble)
        elif time.monotonic() - start > SLOW_CALL_SECONDS * calls:
            self._breaker.slow("its answers are slow")
        else:
            self._breaker.succeeded()

    def _read(self, keys: list[str], found: dict[str, bytes], deadline: float) -> None:
        wanted = set(keys)
        for packed in self._items(keys, deadline):
            entry = item.unpack(packed, self._clock(), self._ttl_seconds)
            if entry is None:
                continue

            key, value = entry
            if key in wanted:
                found[key] = value

    def _items(self, keys: list[str], deadline: float) -> Iterator[item.Item]:
        for start in range(0, len(keys), READ_KEYS):
            asked = [{"k": {"S": key}} for key in keys[start : start + READ_KEYS]]
            request = {self._table: {"Keys": asked}}

            operation = self._client.batch_get_item
            for answer in _rounds(operation, request, "UnprocessedKeys", deadline):
                yield from answer.get("Responses", {}).get(self._table, ())

    def _write(self, packed: list[item.Item], deadline: float) -> None:
        for start in range(0, len(packed), WRITE_ITEMS):
            puts = [{"PutRequest": {"Item": put}} for put in packed[start : start + WRITE_ITEMS]]
            request = {self._table: puts}

            operation = self._client.batch_write_item
            for _ in _rounds(operation, request, "UnprocessedItems", deadline):
                pass  # the answer to a write says nothing but what was left


def connect(table: str, ttl_seconds: int) -> TableCache:
    """The cache over this table, with a client of its own: see aws.client for time and errors."""
    return TableCache(build_client(), table, ttl_seconds)


def build_client() -> "BaseClient":
    """A DynamoDB client with the time-out of one try."""
    return aws.client("dynamodb", connect_seconds=TIMEOUT_SECONDS, read_seconds=TIMEOUT_SECONDS)


class UnprocessedError(Exception):
    """The table keeps handing back part of what it was asked: it is throttling."""


class NotAnAnswerError(Exception):
    """What answered is not DynamoDB: botocore reads any page with status 200 as an empty answer."""


def _rounds(
    operation: Operation,
    request: Mapping[str, object],
    left: str,
    deadline: float,
) -> Iterator[Answer]:
    """The table's answers until nothing of the request is left; raises when there are too many."""
    for wait in ROUND_WAITS:
        time.sleep(wait)
        answer = _with_one_retry(operation, request, deadline)
        yield answer

        if left not in answer:
            raise NotAnAnswerError
        request = answer[left]
        if not request:
            return
    raise UnprocessedError


def _with_one_retry(operation: Operation, request: Mapping[str, object], deadline: float) -> Answer:
    if time.monotonic() >= deadline:
        raise TimeoutError

    try:
        return operation(RequestItems=request)
    except Exception:  # whatever it was, the second failure is the one that counts
        if time.monotonic() >= deadline:
            raise
        return operation(RequestItems=request)
