"""A table in any trouble costs one request less than a second, one warning, and never an answer."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

import pytest

from fillmask.cache.breaker import LONGEST_PAUSE_SECONDS, PAUSE_SECONDS, Breaker
from fillmask.cache.memory import MemoryCache, TieredCache
from fillmask.cache.table import ROUND_WAITS, SCHEMA, TableCache, build_client
from support import sick_tables
from support.dynamodb_local import ENVIRONMENT, DynamoDBLocal

TTL = 3600


class Clock:
    """A breaker's clock, moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def aws_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator["Opener"]:
    with ExitStack() as stack:
        yield Opener(stack, clock, monkeypatch)


class Opener:
    """Makes table caches for an endpoint and closes them after the test."""

    def __init__(self, stack: ExitStack, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        self._stack = stack
        self._clock = clock
        self._monkeypatch = monkeypatch

    def __call__(self, url: str, table: str = "answers") -> TableCache:
        self._monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        cache = TableCache(
            build_client(), table, TTL, breaker=Breaker("The cache table", self._clock)
        )
        self._stack.callback(cache.close)
        return cache


def request(cache: TableCache, key: str = "a") -> float:
    """Do what one request does with a cache; return the seconds it took."""
    start = time.perf_counter()
    assert cache.get_many([key]) == {}
    cache.put_many({key: b"1"})
    return time.perf_counter() - start


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


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
        asked = server.requests
        assert 1 <= asked <= 2, "one try and one retry, and the write is not tried any more"
        assert request(cache) < 0.1
        clock.now += PAUSE_SECONDS - 1
        request(cache)
        assert server.requests == asked, "left alone during the pause"
        clock.now += 2
        assert request(cache) < 1
        assert asked < server.requests <= 2 * asked
    (warning,) = warnings(caplog)
    assert "secret" not in warning
    assert "床前" not in warning


def test_the_warning_names_the_error(opened: Opener, caplog: pytest.LogCaptureFixture) -> None:
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
        assert max(request(cache) for _ in range(20)) < 0.1
        clock.now += PAUSE_SECONDS + 1
        assert request(cache) < 1
    assert len(warnings(caplog)) == 1


def test_a_table_that_falls_silent_between_read_and_write(opened: Opener) -> None:
    with sick_tables.silent() as url:
        cache = opened(url)
        start = time.perf_counter()
        cache.put_many({"a": b"1"})
        assert time.perf_counter() - start < 0.6
        assert cache.get_many(["a"]) == {}
        assert time.perf_counter() - start < 0.7


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
    dynamodb_local: DynamoDBLocal, opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    cache = opened(dynamodb_local.endpoint, "no-such-table")
    assert request(cache) < 1
    assert request(cache) < 0.1
    (warning,) = warnings(caplog)
    assert warning.endswith("ResourceNotFoundException")


NOTHING_READ = b'{"UnprocessedKeys": {"answers": {"Keys": [{"k": {"S": "a"}}]}}}'
NOTHING_WRITTEN = (
    b'{"UnprocessedKeys": {}, '
    b'"UnprocessedItems": {"answers": [{"PutRequest": {"Item": {"k": {"S": "a"}}}}]}}'
)


@pytest.mark.parametrize("answer", [NOTHING_READ, NOTHING_WRITTEN])
def test_a_table_that_never_processes_anything(
    answer: bytes, opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    with sick_tables.Answering(200, answer) as server:
        assert request(opened(server.url)) < 1
        assert server.requests in (len(ROUND_WAITS), len(ROUND_WAITS) + 1)
    assert warnings(caplog) == ["The cache table is left out until it recovers: UnprocessedError"]


def start(port: int | None = None) -> DynamoDBLocal:
    """Start a server of our own with the table, and let its young Java answer some requests slowly."""
    server = DynamoDBLocal(port)
    server.create_table("answers")
    client = server.client()
    for number in range(20):
        client.put_item(TableName="answers", Item={"k": {"S": f"young-{number}"}})
        client.batch_get_item(RequestItems={"answers": {"Keys": [{"k": {"S": f"young-{number}"}}]}})
    client.close()
    return server


def test_killing_the_table_in_the_middle_costs_no_answer(
    opened: Opener, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    server = start()
    try:
        cache = TieredCache(MemoryCache(0, TTL), opened(server.endpoint))

        def answer(number: int) -> tuple[bytes, float]:
            began = time.perf_counter()
            key = f"key-{number}"
            known = cache.get_many([key])
            value = known.get(key) or f"answer {number}".encode()
            if not known:
                cache.put_many({key: value})
            return value, time.perf_counter() - began

        expected = [f"answer {number}".encode() for number in range(10)]
        keys = [f"key-{number}" for number in range(10)]
        assert [answer(number)[0] for number in range(10)] == expected
        assert cache.get_many(keys) == dict(zip(keys, expected, strict=True))
        answers = []
        for number in range(10):
            if number == 4:
                server.kill()
            answers.append(answer(number))
        assert [value for value, _ in answers] == expected
        assert max(seconds for _, seconds in answers) < 1
        assert sum(seconds for _, seconds in answers[5:]) < 0.3
        assert len(warnings(caplog)) == 1

        server = start(server.port)
        assert [answer(number)[0] for number in range(10)] == expected
        assert cache.get_many(keys) == {}, "still in the pause"
        clock.now += PAUSE_SECONDS + 1
        assert [answer(number)[0] for number in range(10)] == expected
        assert cache.get_many(keys) == dict(zip(keys, expected, strict=True))
    finally:
        server.kill()


def test_pauses_grow_to_a_bound_and_start_anew_after_success(clock: Clock) -> None:
    breaker = Breaker("It", clock)
    pauses = []
    for _ in range(8):
        breaker.failed("why")
        start = clock.now
        while not breaker.allows():
            clock.now += 1
        pauses.append(clock.now - start)
    assert pauses == [10, 20, 40, 80, 160, 300, 300, 300]
    assert not breaker.allows(), "one try at a time after a pause"
    breaker.succeeded()
    assert breaker.allows()
    assert breaker.allows()
    breaker.failed("why")
    clock.now += PAUSE_SECONDS
    assert breaker.allows()


def test_a_clock_that_jumps_back_does_not_keep_the_breaker_open(clock: Clock) -> None:
    breaker = Breaker("It", clock)
    breaker.failed("why")
    clock.now -= LONGEST_PAUSE_SECONDS * 100
    assert breaker.allows()
