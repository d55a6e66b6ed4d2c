"""The lazy table cache: no answer waits for a client, and nothing is lost that fits its memory."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fillmask.cache.breaker import PAUSE_SECONDS, Breaker
from fillmask.cache.item import ITEM_BYTES
from fillmask.cache.lazy import PENDING_BYTES, PENDING_ITEMS, LazyTableCache
from fillmask.cache.table import TableCache, connect
from support.clock import Clock
from support.dynamodb_local import ENVIRONMENT, DynamoDBLocal

TABLE = "lazy"


class FakeClient:
    """A table in memory behind the two calls of the client that are used."""

    def __init__(self) -> None:
        self.items: dict[str, bytes] = {}
        self.closed = False

    def batch_write_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
        for put in RequestItems[TABLE]:
            item = put["PutRequest"]["Item"]
            self.items[item["k"]["S"]] = item["v"]["B"]
        return {"UnprocessedItems": {}}

    def close(self) -> None:
        self.closed = True


class Connecting:
    """A connect function that takes until it is let go, and counts its calls."""

    def __init__(self) -> None:
        self.client = FakeClient()
        self.calls = 0
        self.go = threading.Event()

    def __call__(self) -> TableCache:
        self.calls += 1
        assert self.go.wait(10)
        self.client = FakeClient()
        return TableCache(self.client, TABLE, 3600)


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.005)


def flushing() -> bool:
    return any(thread.name == "cache-table" for thread in threading.enumerate())


@pytest.fixture
def connecting() -> Iterator[Connecting]:
    made = Connecting()
    yield made
    made.go.set()
    until(lambda: not flushing())


def test_nothing_is_built_before_the_first_write(connecting: Connecting) -> None:
    cache = LazyTableCache(connecting)
    assert cache.get_many(["a"]) == {}
    cache.put_many({})
    assert connecting.calls == 0


def test_no_call_waits_for_the_client_and_what_was_put_meanwhile_is_written(
    connecting: Connecting,
) -> None:
    cache = LazyTableCache(connecting)
    cache.put_many({"a": b"1", "b": b"old"})
    cache.put_many({"b": b"2"})
    assert cache.get_many(["a"]) == {}
    assert not connecting.client.items
    connecting.go.set()  # only now: a call that waits for the client would not have come back
    until(lambda: bool(connecting.client.items))
    assert connecting.client.items == {"a": b"1", "b": b"2"}, "written without another write"
    connecting.client.items.clear()
    cache.put_many({"d": b"4"})
    assert connecting.client.items == {"d": b"4"}, "what waited is written once"
    assert connecting.calls == 1


def test_what_waits_is_bounded_in_number_and_the_oldest_goes(connecting: Connecting) -> None:
    cache = LazyTableCache(connecting)
    for number in range(3 * PENDING_ITEMS):
        cache.put_many({f"{number}": b"1"})
    connecting.go.set()
    until(lambda: bool(connecting.client.items) and not flushing())
    expected = {f"{number}" for number in range(2 * PENDING_ITEMS, 3 * PENDING_ITEMS)}
    assert set(connecting.client.items) == expected


def test_what_waits_is_bounded_in_bytes_and_holds_no_item_that_is_too_large(
    connecting: Connecting,
) -> None:
    cache = LazyTableCache(connecting)
    large = bytes(ITEM_BYTES - 100)
    cache.put_many({f"{number}": large for number in range(50)})
    cache.put_many({"too large": bytes(ITEM_BYTES)})
    connecting.go.set()
    until(lambda: bool(connecting.client.items) and not flushing())
    assert "too large" not in connecting.client.items
    assert "49" in connecting.client.items
    assert (
        PENDING_BYTES - ITEM_BYTES
        < sum(map(len, connecting.client.items.values()))
        <= PENDING_BYTES
    )


def test_connecting_at_once_and_again_after_a_snapshot(connecting: Connecting) -> None:
    connecting.go.set()
    cache = LazyTableCache(connecting)
    cache.connect_now()
    cache.connect_now()
    assert connecting.calls == 1
    cache.put_many({"a": b"1"})
    first = connecting.client
    assert first.items == {"a": b"1"}
    cache.disconnect()
    cache.disconnect()
    assert first.closed
    assert cache.get_many(["a"]) == {}
    cache.put_many({"b": b"2"})
    until(lambda: not flushing())
    assert connecting.calls == 2
    assert connecting.client is not first
    assert connecting.client.items == {"b": b"2"}


def test_a_client_that_cannot_be_built_is_one_warning_and_then_a_pause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, calls = Clock(), []

    def refuse() -> TableCache:
        calls.append(1)
        raise ValueError("secret")

    cache = LazyTableCache(refuse, Breaker("Connecting to the cache table", clock))
    for number in range(5):
        cache.put_many({f"{number}": b"1"})
        until(lambda: not flushing())
        assert len(calls) == 1
        assert cache.get_many(["1"]) == {}
    clock.now += PAUSE_SECONDS
    cache.put_many({"a": b"1"})
    until(lambda: not flushing())
    assert len(calls) == 2
    warnings = [
        record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING
    ]
    assert warnings == ["Connecting to the cache table is left out until it recovers: ValueError"]


def test_for_real(
    dynamodb_local: DynamoDBLocal, unhurried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": dynamodb_local.endpoint}.items():
        monkeypatch.setenv(name, value)
    dynamodb_local.create_table(TABLE)
    cache = LazyTableCache(lambda: connect(TABLE, 3600))
    cache.put_many({"a": b"1"})
    until(lambda: not flushing())
    cache.put_many({"b": b"2"})
    assert cache.get_many(["a", "b"]) == {"a": b"1", "b": b"2"}
    cache.disconnect()
