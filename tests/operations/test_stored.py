"""A poisoned or torn value in a cache is a miss: the answer is computed anew."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from fillmask.cache.memory import MemoryCache
from fillmask.operations.embed import HEADER
from fillmask.operations.service import Service
from support import embedded

Json = dict[str, Any]
RANKED: Json = {"text": "床前[MASK]月光[MASK]\U0001f600", "top_k": 3, "mode": "joint"}
TARGETED: Json = {"text": "天[MASK]很好", "targets": ["气", "气候", "[MASK]"]}


class Table(MemoryCache):
    """A cache whose one value can be replaced."""

    def __init__(self) -> None:
        super().__init__(10**8, 3600)
        self.written: dict[str, bytes] = {}

    def put_many(self, items: Mapping[str, bytes]) -> None:
        self.written |= items
        super().put_many(items)

    def replace(self, change: Callable[[bytes], bytes]) -> None:
        ((key, value),) = self.written.items()
        super().put_many({key: change(value)})


def asked(operation: str, request: Json, change: Callable[[bytes], bytes]) -> tuple[Json, Json]:
    """A fresh answer, and the one that is given when the table's value is changed."""
    table = Table()
    service = Service(embedded.engine(), embedded.codec(), table)
    fresh = service.answer(operation, request)
    table.replace(change)
    return fresh, service.answer(operation, request)


def edited(path: Sequence[str | int], value: object) -> Callable[[bytes], bytes]:
    """Sets one member of the packed answer."""

    def change(packed: bytes) -> bytes:
        content = place = json.loads(packed)
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        return json.dumps(content).encode()

    return change


def test_a_value_that_was_not_changed_is_a_hit() -> None:
    for request in (RANKED, TARGETED):
        fresh, again = asked("fill-mask", request, lambda value: value)
        assert [result.pop("cached") for result in again["results"]] == [True]
        assert [result.pop("cached") for result in fresh["results"]] == [False]
        assert again == fresh


POISON: list[tuple[Json, Sequence[str | int], object]] = [
    (RANKED, ["tokens"], -1),
    (RANKED, ["tokens"], True),
    (RANKED, ["tokens"], 10**300),
    (RANKED, ["masks"], 5),
    (RANKED, ["masks"], []),
    (RANKED, ["masks", 0, "start"], "a"),
    (RANKED, ["masks", 0, "start"], 2.0),
    (RANKED, ["masks", 0, "end"], 7),
    (RANKED, ["masks", 0, "window"], [0, 10**9]),
    (RANKED, ["masks", 0, "window"], [5, 5]),
    (RANKED, ["masks", 0, "window"], "ab"),
    (RANKED, ["masks", 0, "candidates"], []),
    (RANKED, ["masks", 0, "candidates"], [[5, 0.5]] * 10_000),
    (RANKED, ["masks", 0, "candidates", 0, 0], -1),
    (RANKED, ["masks", 0, "candidates", 0, 0], 999_999),
    (RANKED, ["masks", 0, "candidates", 0, 0], None),
    (RANKED, ["masks", 0, "candidates", 0, 1], float("nan")),
    (RANKED, ["masks", 0, "candidates", 0, 1], float("inf")),
    (RANKED, ["masks", 0, "candidates", 0, 1], "0.5"),
    (RANKED, ["masks", 0, "candidates", 0, 1], 2.0),
    (RANKED, ["fillings"], None),
    (RANKED, ["fillings"], [[[5, 6], 0.1]] * 1000),
    (RANKED, ["fillings", 0, 0], [5]),
    (RANKED, ["fillings", 0, 0], [5, 10**6]),
    (RANKED, ["fillings", 0, 1], float("nan")),
    (RANKED, ["unknown"], [[0, 1, "unknown"]] * 2),
    (RANKED, ["unknown"], [[0, 10**6, "unknown"]]),
    (RANKED, ["unknown"], [[0, 1, "forged"]]),
    (RANKED, ["unknown"], ["abc"]),
    (TARGETED, ["masks", 0, "candidates"], [[5, 0.5]]),
    (TARGETED, ["masks", 0, "candidates", 0, "score"], None),
    (TARGETED, ["masks", 0, "candidates", 0, "pieces"], []),
    (TARGETED, ["masks", 0, "candidates", 0, "pieces"], "5"),
    (TARGETED, ["masks", 0, "candidates", 0, "pieces"], [5] * 1000),
    (TARGETED, ["masks", 0, "candidates", 0, "other"], 1),
    (TARGETED, ["masks", 0, "candidates", 2, "reason"], "forged"),
    (TARGETED, ["fillings"], []),
]


@pytest.mark.parametrize(("request_", "path", "value"), POISON, ids=lambda value: repr(value)[:30])
def test_a_poisoned_answer_is_a_miss(
    request_: Json, path: Sequence[str | int], value: object
) -> None:
    fresh, again = asked("fill-mask", request_, edited(path, value))
    assert again == fresh


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value[: len(value) // 2],
        lambda _: b"",
        lambda _: b"[" * 390_000,
        lambda _: b"\xff" * 100,
        lambda _: b"null",
    ],
)
def test_a_torn_answer_is_a_miss(change: Callable[[bytes], bytes]) -> None:
    for operation, request in (("fill-mask", RANKED), ("embed", {"input": "很好"})):
        fresh, again = asked(operation, request, change)
        assert again == fresh


def _with_vector(numbers: Sequence[float]) -> Callable[[bytes], bytes]:
    return lambda value: value[: HEADER.size] + np.array(numbers, dtype="<f4").tobytes()


@pytest.mark.parametrize(
    "change",
    [
        _with_vector([float("nan")] * 256),
        _with_vector([float("inf"), *[0.0] * 255]),
        _with_vector([0.0] * 256),
        _with_vector([3.0e38] * 256),
        _with_vector([1.0]),
        _with_vector([*[0.0] * 256, 1.0]),
        lambda value: b"\0" * HEADER.size + value[HEADER.size :],
        lambda value: HEADER.pack(1, 255, 0) + value[HEADER.size :],
        lambda value: HEADER.pack(4, 1, 99) + value[HEADER.size :],
    ],
)
def test_a_poisoned_vector_is_a_miss(change: Callable[[bytes], bytes]) -> None:
    fresh, again = asked("embed", {"input": "很好"}, change)
    assert again == fresh
