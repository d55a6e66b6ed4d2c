"""The shared cache in a DynamoDB table, behind a breaker; a sick table costs little, and never an answer.

An item has four attributes with short names, because names are billed and counted with every item:

    k  S  key, the table's partition key
    v  B  value
    t  N  epoch second at which the item expires; the table's TTL attribute
    s  N  version of this layout and of the value's; another number is a miss

DynamoDB deletes expired items days late, so `t` is checked on every read. Whatever an item looks like,
the worst it can be is a miss. No import of the AWS SDK on the way in: connect() does that, see
cache_lazy.py for when. Nothing here retries more than once, and every call has a deadline of its own.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from threading import Thread
from typing import Any, Final

from fillmask.cache.breaker import Breaker

SCHEMA: Final = 1
READ_KEYS: Final = 100  # of one BatchGetItem
WRITE_ITEMS: Final = 25  # of one BatchWriteItem
ITEM_BYTES: Final = 400 * 1024
ATTRIBUTE_BYTES: Final = 64  # more than the names and the two numbers of an item take
CLOCK_SKEW_SECONDS: Final = 300  # between the hosts that share a table

# One try may take a time-out, so two tries fit a deadline; a read and a write together stay under a second.
TIMEOUT_SECONDS: Final = 0.2
READ_SECONDS: Final = 0.5
WRITE_SECONDS: Final = 0.45
ROUND_WAITS: Final = (
    0.0,
    0.02,
    0.04,
    0.08,
)  # before each question about what the table left unprocessed

Operation = Callable[..., dict[str, Any]]  # a bound method of the client


class TableCache:
    """A Cache over one table through a low-level DynamoDB client, which may be used by several threads."""

    def __init__(
        self,
        client: Any,
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
        """Return the fresh values; on trouble, those that came before it."""
        found: dict[str, bytes] = {}
        if keys:
            self._guarded(READ_SECONDS, partial(self._read, list(dict.fromkeys(keys)), found))
        return dict(found)  # a copy, because work that was given up on may still add to `found`

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Write the values that fit an item; on trouble, those that were written before it."""
        numbers = {"t": {"N": str(int(self._clock()) + self._ttl_seconds)}, "s": {"N": str(SCHEMA)}}
        puts = [
            {"PutRequest": {"Item": {"k": {"S": key}, "v": {"B": value}, **numbers}}}
            for key, value in items.items()
            if fits_item(key, value)
        ]
        if puts:
            self._guarded(WRITE_SECONDS, partial(self._write, puts))

    def close(self) -> None:
        """Close the client's connections."""
        self._client.close()

    def _guarded(self, seconds: float, work: Callable[[float], None]) -> None:
        # The client's time-outs bound one wait for one packet. Only a thread bounds a slow name server,
        # a refresh of credentials or an answer that trickles in, so the work gets one and may be left behind.
        if not self._breaker.allows():
            return
        outcome: list[str] = []
        try:
            thread = Thread(
                target=_record, args=(outcome, work, time.monotonic() + seconds), daemon=True
            )
            thread.start()
            thread.join(seconds)
        except RuntimeError as error:  # no thread to be had
            outcome.append(reason_for(error))
        reason = outcome[0] if outcome else f"no answer within {seconds} s"
        if reason:
            self._breaker.failed(reason)
        else:
            self._breaker.succeeded()

    def _read(self, keys: list[str], found: dict[str, bytes], deadline: float) -> None:
        wanted = set(keys)
        for start in range(0, len(keys), READ_KEYS):
            names = [{"k": {"S": key}} for key in keys[start : start + READ_KEYS]]
            request = {self._table: {"Keys": names}}
            for answer in _rounds(
                self._client.batch_get_item, request, "UnprocessedKeys", deadline
            ):
                for item in answer.get("Responses", {}).get(self._table, ()):
                    key, value = self._entry(item)
                    if key in wanted:
                        found[key] = value

    def _write(self, puts: list[dict[str, Any]], deadline: float) -> None:
        for start in range(0, len(puts), WRITE_ITEMS):
            request = {self._table: puts[start : start + WRITE_ITEMS]}
            for _ in _rounds(self._client.batch_write_item, request, "UnprocessedItems", deadline):
                pass

    def _entry(self, item: Mapping[str, Any]) -> tuple[str, bytes]:
        """Return key and value of a fresh item of this layout; of anything else, a key nobody asked for."""
        try:
            key, value = item["k"]["S"], item["v"]["B"]
            expires, schema = int(item["t"]["N"]), int(item["s"]["N"])
        except (KeyError, TypeError, ValueError):
            return "", b""
        now = self._clock()
        # Not later than this cache would write it: a time in milliseconds is never over, and a shorter
        # TTL in the settings counts for older items too.
        fresh = now < expires <= now + self._ttl_seconds + CLOCK_SKEW_SECONDS
        return (key, value) if fresh and schema == SCHEMA else ("", b"")


def connect(table: str, ttl_seconds: int) -> TableCache:
    """Return the cache over this table with a client of its own; takes about 200 ms, most of it imports."""
    return TableCache(build_client(), table, ttl_seconds)


def build_client() -> Any:
    """Build a client with short time-outs; region, endpoint and credentials come the SDK's usual ways.

    May raise whatever botocore raises. botocore alone, because boto3 adds a fifth to the time and nothing
    that is used here.
    """
    import botocore.session  # noqa: PLC0415  only where a table is configured, and never before an answer
    from botocore.config import Config  # noqa: PLC0415

    config = Config(
        connect_timeout=TIMEOUT_SECONDS,
        read_timeout=TIMEOUT_SECONDS,
        retries={"total_max_attempts": 1},  # the one retry is made here, within a deadline
    )
    return botocore.session.get_session().create_client("dynamodb", config=config)


def fits_item(key: str, value: bytes) -> bool:
    """Say whether DynamoDB takes an item of this size."""
    return len(key.encode()) + len(value) + ATTRIBUTE_BYTES <= ITEM_BYTES


def reason_for(error: Exception) -> str:
    """Name an error without its message: botocore's messages may quote what was sent."""
    response = getattr(error, "response", None) or {}
    return " ".join(filter(None, (type(error).__name__, response.get("Error", {}).get("Code"))))


class UnprocessedError(Exception):
    """The table keeps handing back part of what it was asked: it is throttling."""


class NotAnAnswerError(Exception):
    """What answered is not DynamoDB: botocore makes an empty result of a proxy's page with status 200."""


def _record(outcome: list[str], work: Callable[[float], None], deadline: float) -> None:
    try:
        work(deadline)
        outcome.append("")
    except Exception as error:  # noqa: BLE001  a cache may fail in any way, and none is worth an answer
        outcome.append(reason_for(error))


def _rounds(
    operation: Operation, request: dict[str, Any], left: str, deadline: float
) -> Iterator[dict[str, Any]]:
    """Yield the table's answers until nothing of the request is left; raise when that takes too long."""
    for wait in ROUND_WAITS:
        time.sleep(wait)
        answer = _retried(operation, request, deadline)
        yield answer
        if left not in answer:
            raise NotAnAnswerError
        request = answer[left]
        if not request:
            return
    raise UnprocessedError


def _retried(operation: Operation, request: dict[str, Any], deadline: float) -> dict[str, Any]:
    if time.monotonic() >= deadline:
        raise TimeoutError
    try:
        return operation(RequestItems=request)
    except Exception:  # whatever it was, the second failure is the one that counts
        if time.monotonic() >= deadline:
            raise
        return operation(RequestItems=request)
