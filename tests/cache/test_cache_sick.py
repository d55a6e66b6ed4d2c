"""A failing table delays one request by less than a second, once, and fails no request."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from fillmask.cache.breaker import PAUSE_SECONDS, Breaker
from fillmask.cache.item import SCHEMA
from fillmask.cache.table import ROUND_WAITS, TableCache
from support import sick_tables
from support.clock import Clock
from support.dynamodb_local import DynamoDBLocal
from support.table_caches import TTL, Opener, request, warnings

SICK = {
    "throttled": lambda: sick_tables.refusing("ThrottlingException"),
    "over its throughput": lambda: sick_tables.refusing("ProvisionedThroughputExceededException"),
    "access denied": lambda: sick_tables.refusing("AccessDeniedException"),
    "expired token": lambda: sick_tables.refusing("ExpiredTokenException"),
    "internal error": lambda: sick_tables.refusing("InternalServerError", 500),
    "not JSON": lambda: sick_tables.Answering(200, b"<html>proxy</html>"),
    "a list": lambda: sick_tables.Answering(200, b"[1]"),
    "a byte now and then": lambda: sick_tables.Answering(
        200, b" " * 100 + b"{}", seconds_a_byte=0.05
    ),
}


@pytest.mark.parametrize("trouble", SICK)
def test_a_refusing_table(
    trouble: str, opened: Opener, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with SICK[trouble]() as server:
        cache = opened(server.url)
        assert request(cache) < 1
        asked, calls = server.requests, opened.calls
        assert 1 <= asked <= 2, "one try and one retry, and the write is not tried any more"
        request(cache)
        clock.now += PAUSE_SECONDS - 1
        request(cache)
        assert (server.requests, opened.calls) == (asked, calls), "left alone during the pause"
        clock.now += 2
        assert request(cache) < 1
        assert asked < server.requests <= 2 * asked
    (warning,) = warnings(caplog)
    assert "secret" not in warning
    assert "床前" not in warning


def test_the_warning_names_the_error(
    opened: Opener, unhurried: None, caplog: pytest.LogCaptureFixture
) -> None:
    with sick_tables.refusing("AccessDeniedException") as server:
        request(opened(server.url))
    assert warnings(caplog) == [
        "The cache table is left out until it recovers: ClientError AccessDeniedException"
    ]


@pytest.mark.parametrize("endpoint", [sick_tables.silent, sick_tables.closed])
def test_a_table_that_cannot_be_reached(
    endpoint: Callable[[], AbstractContextManager[str]],
    opened: Opener,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with endpoint() as url:
        cache = opened(url)
        assert request(cache) < 1
        calls = opened.calls
        for _ in range(20):
            request(cache)
        assert opened.calls == calls, "left alone during the pause"
        clock.now += PAUSE_SECONDS + 1
        assert request(cache) < 1
        assert opened.calls > calls
    assert len(warnings(caplog)) == 1


def test_a_table_that_falls_silent_between_read_and_write(opened: Opener) -> None:
    with sick_tables.silent() as url:
        cache = opened(url)
        start = time.perf_counter()
        cache.put_many({"a": b"1"})
        calls = opened.calls
        assert cache.get_many(["a"]) == {}
        assert time.perf_counter() - start < 1
        assert opened.calls == calls


def test_one_failure_is_made_good_by_the_retry(caplog: pytest.LogCaptureFixture) -> None:
    class Hiccup:
        calls = 0

        def batch_get_item(self, **_: object) -> dict[str, object]:
            self.calls += 1
            if self.calls == 1:
                raise ConnectionResetError
            item = {"k": {"S": "a"}, "v": {"B": b"1"}, "t": {"N": "1600"}, "s": {"N": str(SCHEMA)}}
            return {"Responses": {"answers": [item]}, "UnprocessedKeys": {}}

    client = Hiccup()
    assert TableCache(client, "answers", TTL, clock=lambda: 1000).get_many(["a"]) == {"a": b"1"}
    assert client.calls == 2
    assert warnings(caplog) == []


def test_without_credentials(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with sick_tables.refusing("NeverAsked") as server:
        assert request(opened(server.url)) < 1
        assert server.requests == 0
    assert warnings(caplog) == ["The cache table is left out until it recovers: NoCredentialsError"]


def test_a_table_that_does_not_exist(
    dynamodb_local: DynamoDBLocal,
    opened: Opener,
    unhurried: None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cache = opened(dynamodb_local.endpoint, "no-such-table")
    request(cache)
    calls = opened.calls
    request(cache)
    assert opened.calls == calls
    (warning,) = warnings(caplog)
    assert warning.endswith("ResourceNotFoundException")


class Slow:
    """A table that answers everything, each call after so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.calls = 0

    def _answer(self, **_: object) -> dict[str, object]:
        self.calls += 1
        time.sleep(self.seconds)
        return {"Responses": {}, "UnprocessedKeys": {}, "UnprocessedItems": {}}

    batch_get_item = batch_write_item = _answer


def test_a_slow_table_costs_half_a_second_once(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    client = Slow(0.19)
    cache = TableCache(client, "answers", TTL, breaker=Breaker("The cache table", clock))
    assert 0.35 < request(cache) < 0.5
    assert request(cache) < 0.1
    assert client.calls == 2
    clock.now += PAUSE_SECONDS + 1
    request(cache)
    request(cache)
    assert client.calls == 3, "one try after a pause, whose slow success does not close the breaker"
    assert warnings(caplog) == [
        "The cache table is left out until it recovers: its answers are slow"
    ]

    clock.now += 2 * PAUSE_SECONDS + 1
    client.seconds = 0
    request(cache)
    request(cache)
    assert client.calls == 7, "in use again"


def test_many_quick_calls_are_not_slow(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    client = Slow(0.03)
    cache = TableCache(client, "answers", TTL, breaker=Breaker("The cache table", clock))
    for _ in range(3):
        cache.put_many({str(number): b"1" for number in range(256)})
    assert client.calls == 33
    assert warnings(caplog) == []


NOTHING_READ = b'{"UnprocessedKeys": {"answers": {"Keys": [{"k": {"S": "a"}}]}}}'
NOTHING_WRITTEN = (
    b'{"UnprocessedKeys": {}, '
    b'"UnprocessedItems": {"answers": [{"PutRequest": {"Item": {"k": {"S": "a"}}}}]}}'
)


@pytest.mark.parametrize("answer", [NOTHING_READ, NOTHING_WRITTEN])
def test_a_table_that_never_processes_anything(
    answer: bytes, opened: Opener, unhurried: None, caplog: pytest.LogCaptureFixture
) -> None:
    with sick_tables.Answering(200, answer) as server:
        request(opened(server.url))
        assert server.requests in (len(ROUND_WAITS), len(ROUND_WAITS) + 1)
    assert warnings(caplog) == ["The cache table is left out until it recovers: UnprocessedError"]
