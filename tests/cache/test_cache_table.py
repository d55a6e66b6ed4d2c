"""The table cache against DynamoDB Local: what it writes, what is a miss, how it splits work."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from fillmask.cache import item
from fillmask.cache.breaker import PAUSE_SECONDS, Breaker
from fillmask.cache.item import ATTRIBUTE_BYTES, ITEM_BYTES, SCHEMA
from fillmask.cache.table import TableCache, connect
from support.clock import Clock
from support.dynamodb_local import ENVIRONMENT, DynamoDBLocal

NOW = 1_800_000_000
TTL = 3600


class Table:
    """A table, a cache over it, and a patient client to look behind the cache."""

    def __init__(self, server: DynamoDBLocal) -> None:
        self.name = "answers"
        server.create_table(self.name)
        self.client = server.client()
        self.cache = TableCache(self.client, self.name, TTL, clock=lambda: NOW)

    def put_raw(self, key: str, attributes: Mapping[str, Any]) -> None:
        self.client.put_item(TableName=self.name, Item={"k": {"S": key}, **attributes})

    def items(self) -> list[dict[str, Any]]:
        return list(self.client.scan(TableName=self.name)["Items"])

    def empty(self) -> None:
        while items := self.items():  # a scan ends at 1 MB
            for found in items:
                self.client.delete_item(TableName=self.name, Key={"k": found["k"]})


@pytest.fixture(scope="module")
def only_table(dynamodb_local: DynamoDBLocal) -> Iterator[Table]:
    made = Table(dynamodb_local)
    yield made
    made.client.close()


@pytest.fixture
def table(only_table: Table, unhurried: None, caplog: pytest.LogCaptureFixture) -> Iterator[Table]:
    """An empty table whose test fails on any warning: none of these cases is trouble."""
    yield only_table
    only_table.empty()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_value_comes_back_byte_for_byte(table: Table) -> None:
    scores = [0.1, 1e-12, 0.30000001192092896, 5e-324]
    values = {"a": json.dumps(scores).encode(), "b": bytes(range(256)), "c": b""}
    table.cache.put_many(values)
    found = table.cache.get_many(["a", "b", "c", "missing"])
    assert found == values
    assert json.loads(found["a"]) == scores


def test_an_item_is_laid_out_as_documented(table: Table) -> None:
    table.cache.put_many({"a": b"1"})
    assert table.items() == [
        {"k": {"S": "a"}, "v": {"B": b"1"}, "t": {"N": str(NOW + TTL)}, "s": {"N": str(SCHEMA)}}
    ]


GOOD = {"v": {"B": b"1"}, "t": {"N": str(NOW + TTL)}, "s": {"N": str(SCHEMA)}}
MISSES: dict[str, dict[str, Any]] = {
    "expired, still in the table": {"t": {"N": str(NOW)}},
    "expired long ago": {"t": {"N": "0"}},
    "ttl in milliseconds": {"t": {"N": str((NOW + TTL) * 1000)}},
    "ttl as text": {"t": {"S": str(NOW + TTL)}},
    "ttl with a fraction": {"t": {"N": f"{NOW + TTL}.5"}},
    "ttl as null": {"t": {"NULL": True}},
    "no ttl": {"t": None},
    "value as text": {"v": {"S": "{"}},
    "value as a list": {"v": {"L": []}},
    "no value": {"v": None},
    "old schema": {"s": {"N": str(SCHEMA - 1)}},
    "newer schema": {"s": {"N": str(SCHEMA + 1)}},
    "schema as text": {"s": {"S": str(SCHEMA)}},
    "no schema": {"s": None},
}


@pytest.mark.parametrize("case", MISSES)
def test_an_item_that_is_not_fresh_or_not_ours_is_a_miss(table: Table, case: str) -> None:
    attributes = {name: value for name, value in (GOOD | MISSES[case]).items() if value is not None}
    table.put_raw("bad", attributes)
    table.put_raw("good", GOOD)
    assert table.cache.get_many(["bad", "good"]) == {"good": b"1"}


def test_an_item_lives_until_its_second_comes(table: Table) -> None:
    table.put_raw("a", GOOD | {"t": {"N": str(NOW + 1)}})
    assert table.cache.get_many(["a"]) == {"a": b"1"}


def test_a_shorter_ttl_counts_for_items_written_before(table: Table) -> None:
    table.cache.put_many({"a": b"1"})
    assert TableCache(table.client, table.name, TTL // 10, clock=lambda: NOW).get_many(["a"]) == {}


@pytest.mark.parametrize("amount", [1, 25, 26, 100, 101, 256])
def test_any_number_of_keys_is_split_as_dynamodb_wants(table: Table, amount: int) -> None:
    values = {f"key-{number}": str(number).encode() for number in range(amount)}
    table.cache.put_many(values)
    assert table.cache.get_many([*values, *values]) == values, "equal keys are asked for once"


def test_nothing_asked_is_nothing_done(table: Table) -> None:
    """Above all, it does not use up a try of a table that may have recovered."""
    clock = Clock()
    breaker = Breaker("The cache table", clock)
    cache = TableCache(table.client, table.name, TTL, breaker=breaker)
    breaker.failed("for this test")
    clock.now += PAUSE_SECONDS

    assert cache.get_many([]) == {}
    cache.put_many({})
    cache.put_many({"too large": bytes(ITEM_BYTES)})
    assert breaker.allows(), "the first try after the pause is still to be had"
    assert not breaker.allows(), "and there is one"


def test_the_largest_item_is_written_and_a_larger_one_is_not(table: Table) -> None:
    largest = bytes(ITEM_BYTES - ATTRIBUTE_BYTES - 1)
    table.cache.put_many({"a": largest, "b": largest + b"\0", "c": b"1"})
    assert table.cache.get_many(["a", "b", "c"]) == {"a": largest, "c": b"1"}
    assert item.fits("é" * 10, bytes(ITEM_BYTES - ATTRIBUTE_BYTES - 20))
    assert not item.fits("é" * 10, bytes(ITEM_BYTES - ATTRIBUTE_BYTES - 19)), (
        "bytes count, not characters"
    )


def test_more_than_one_answer_holds_is_asked_for_again(table: Table) -> None:
    """DynamoDB ends an answer at 16 MB and names the rest as unprocessed."""
    values = {f"key-{number}": bytes([number]) * 390_000 for number in range(50)}
    table.cache.put_many(values)
    keys = [{"k": {"S": key}} for key in values]
    assert table.client.batch_get_item(RequestItems={table.name: {"Keys": keys}})["UnprocessedKeys"]
    assert table.cache.get_many(list(values)) == values


class Grudging:
    """A client that takes half of what it is handed, `times` times, and hands back the rest."""

    def __init__(self, client: Any, times: int) -> None:
        self._client = client
        self._times = times
        self.calls = 0

    def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
        def halves(value: Any) -> tuple[Any, Any]:
            keys = value["Keys"]
            return {"Keys": keys[::2]}, {"Keys": keys[1::2]}

        return self._take(self._client.batch_get_item, RequestItems, halves, "UnprocessedKeys")

    def batch_write_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
        def halves(value: Any) -> tuple[Any, Any]:
            return value[::2], value[1::2]

        return self._take(self._client.batch_write_item, RequestItems, halves, "UnprocessedItems")

    def _take(
        self,
        operation: Any,
        request: dict[str, Any],
        halves: Callable[[Any], tuple[Any, Any]],
        left: str,
    ) -> dict[str, Any]:
        self.calls += 1
        ((table, value),) = request.items()
        taken, refused = halves(value)
        if self.calls > self._times or not any(
            refused.values() if isinstance(refused, dict) else refused
        ):
            return dict(operation(RequestItems=request))
        return {**operation(RequestItems={table: taken}), left: {table: refused}}


def test_what_the_table_left_unprocessed_is_asked_again(table: Table) -> None:
    values = {f"key-{number}": b"1" for number in range(20)}
    client = Grudging(table.client, times=2)
    TableCache(client, table.name, TTL, clock=lambda: NOW).put_many(values)
    assert client.calls == 3
    assert len(table.items()) == 20
    client = Grudging(table.client, times=2)
    assert TableCache(client, table.name, TTL, clock=lambda: NOW).get_many(list(values)) == values
    assert client.calls == 3


def test_the_environment_names_the_endpoint(
    table: Table, dynamodb_local: DynamoDBLocal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": dynamodb_local.endpoint}.items():
        monkeypatch.setenv(name, value)
    cache = connect(table.name, TTL)
    cache.put_many({"a": b"1"})
    assert cache.get_many(["a"]) == {"a": b"1"}
    assert [found["k"]["S"] for found in table.items()] == ["a"]
    cache.close()
