"""Table caches over endpoints in any trouble, with a breaker on a clock of the test's own."""

import logging
import time
from contextlib import ExitStack
from typing import Any

import pytest

from fillmask.cache.breaker import Breaker
from fillmask.cache.table import TableCache, build_client
from support.clock import Clock
from support.dynamodb_local import ENVIRONMENT

TTL = 3600


class CountingClient:
    """A client that counts the calls it passes on."""

    def __init__(self) -> None:
        self._client = build_client()
        self.close = self._client.close
        self.calls = 0

    def batch_get_item(self, **arguments: Any) -> Any:
        """Counts and passes on."""
        self.calls += 1
        return self._client.batch_get_item(**arguments)

    def batch_write_item(self, **arguments: Any) -> Any:
        """Counts and passes on."""
        self.calls += 1
        return self._client.batch_write_item(**arguments)


class Opener:
    """Makes table caches for an endpoint, counts their calls and closes them after the test."""

    def __init__(self, stack: ExitStack, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        self._stack = stack
        self._clock = clock
        self._monkeypatch = monkeypatch
        self._clients: list[CountingClient] = []
        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)

    def __call__(self, url: str, table: str = "answers") -> TableCache:
        """A cache over a table of this endpoint."""
        self._monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        client = CountingClient()
        self._clients.append(client)
        cache = TableCache(client, table, TTL, breaker=Breaker("The cache table", self._clock))
        self._stack.callback(cache.close)
        return cache

    @property
    def calls(self) -> int:
        """Of all clients together, failed ones and second tries included."""
        return sum(client.calls for client in self._clients)


def request(cache: TableCache, key: str = "a") -> float:
    """What one request does with a cache that knows nothing; the seconds it took."""
    start = time.perf_counter()
    assert cache.get_many([key]) == {}
    cache.put_many({key: b"1"})
    return time.perf_counter() - start


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The messages of warnings and errors."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
