"""A table that is killed between two requests, and comes back."""

import time

import pytest

from fillmask.cache.breaker import PAUSE_SECONDS
from fillmask.cache.memory import MemoryCache, TieredCache
from support.clock import Clock
from support.dynamodb_local import DynamoDBLocal
from support.table_caches import TTL, Opener, warnings


def start(port: int | None = None) -> DynamoDBLocal:
    """A server of our own with the table, whose young Java has answered some requests slowly."""
    server = DynamoDBLocal(port)
    server.create_table("answers")
    client = server.client()
    for number in range(20):
        client.put_item(TableName="answers", Item={"k": {"S": f"young-{number}"}})
        client.batch_get_item(RequestItems={"answers": {"Keys": [{"k": {"S": f"young-{number}"}}]}})
    client.close()
    return server


@pytest.mark.java
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
        answers, calls = [], 0
        for number in range(10):
            if number == 4:
                server.kill()
            answers.append(answer(number))
            calls = opened.calls if number == 4 else calls
        assert [value for value, _ in answers] == expected
        assert max(seconds for _, seconds in answers) < 1
        assert opened.calls == calls, "left alone after the first failure"
        assert len(warnings(caplog)) == 1

        server = start(server.port)
        assert [answer(number)[0] for number in range(10)] == expected
        assert cache.get_many(keys) == {}, "still in the pause"
        clock.now += PAUSE_SECONDS + 1
        assert [answer(number)[0] for number in range(10)] == expected
        assert cache.get_many(keys) == dict(zip(keys, expected, strict=True))
    finally:
        server.kill()
