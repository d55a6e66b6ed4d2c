"""The memory cache and two caches in a row."""

import subprocess
import sys
import tracemalloc
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from fillmask.cache.memory import ENTRY_BYTES, Cache, MemoryCache, TieredCache
from support.clock import Clock
from support.paths import LAYER


class Recorder:
    """A cache that remembers everything, and what it was asked."""

    def __init__(self, **values: bytes) -> None:
        self.values: dict[str, bytes] = dict(values)
        self.asked: list[list[str]] = []

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        self.asked.append(list(keys))
        return {key: self.values[key] for key in keys if key in self.values}

    def put_many(self, items: Mapping[str, bytes]) -> None:
        self.values.update(items)


def room_for(entries: int, value_bytes: int = 10) -> int:
    return entries * (1 + value_bytes + ENTRY_BYTES)


def test_a_value_comes_back_and_a_missing_key_is_absent() -> None:
    cache = MemoryCache(room_for(3), 60, Clock())
    cache.put_many({"a": b"\x00\xff", "b": b""})
    assert cache.get_many(["a", "b", "c", "a"]) == {"a": b"\x00\xff", "b": b""}


def test_the_least_recently_used_goes_first() -> None:
    cache = MemoryCache(room_for(3), 60, Clock())
    cache.put_many({key: bytes(10) for key in "abc"})
    cache.get_many(["a"])
    cache.put_many({"d": bytes(10)})
    assert set(cache.get_many(list("abcd"))) == {"a", "c", "d"}


def test_rewriting_a_key_counts_it_once() -> None:
    cache = MemoryCache(room_for(2), 60, Clock())
    for _ in range(100):
        cache.put_many({"a": bytes(10)})
    cache.put_many({"b": bytes(10)})
    assert set(cache.get_many(["a", "b"])) == {"a", "b"}


def test_a_value_that_can_never_fit_pushes_nothing_out_and_replaces_its_old_self() -> None:
    cache = MemoryCache(room_for(2), 60, Clock())
    cache.put_many({"a": b"old", "b": b"stays"})
    cache.put_many({"a": bytes(room_for(2))})
    assert cache.get_many(["a", "b"]) == {"b": b"stays"}


def test_zero_bytes_switch_it_off() -> None:
    cache = MemoryCache(0, 60, Clock())
    cache.put_many({"a": b""})
    assert cache.get_many(["a"]) == {}


def test_entries_end_with_their_age_and_not_before() -> None:
    clock = Clock()
    cache = MemoryCache(room_for(3), 60, clock)
    cache.put_many({"a": b"1"})
    clock.now += 59.9
    assert cache.get_many(["a"]) == {"a": b"1"}
    clock.now += 0.1
    assert cache.get_many(["a"]) == {}
    clock.now -= 60
    assert cache.get_many(["a"]) == {}, "an expired entry is gone, not hidden"


def test_a_clock_that_jumps_back_is_a_miss() -> None:
    clock = Clock()
    cache = MemoryCache(room_for(3), 60, clock)
    cache.put_many({"a": b"1"})
    clock.now -= 3600
    assert cache.get_many(["a"]) == {}


def test_the_bound_is_one_on_memory() -> None:
    bound = 1_000_000
    cache = MemoryCache(bound, 60)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(6000):
        cache.put_many({f"{number:064}": bytes(100 + number % 50)})
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 0.6 * bound < used <= bound


def test_threads_may_share_it() -> None:
    cache = MemoryCache(room_for(20), 60)

    def work(seed: int) -> None:
        for number in range(2000):
            key = chr(97 + (seed * number) % 26)
            cache.put_many({key: key.encode() * (number % 20)})
            for found, value in cache.get_many(list("aeiouz")).items():
                assert set(value) <= {ord(found)}

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(1, 9)))
    cache.put_many({key: bytes(10) for key in "abcdefghijklmnopqrst"})
    assert len(cache.get_many(list("abcdefghijklmnopqrst"))) == 20, (
        "the count of bytes is still right"
    )


def test_the_far_cache_is_asked_once_for_what_the_near_one_lacks() -> None:
    near, far = Recorder(a=b"1"), Recorder(b=b"2", a=b"other")
    tiers: Cache = TieredCache(near, far)
    assert tiers.get_many(["a", "b", "c", "b"]) == {"a": b"1", "b": b"2"}
    assert far.asked == [["b", "c"]]
    assert near.values == {"a": b"1", "b": b"2"}, "and the near one keeps what the far one knew"
    assert tiers.get_many(["a", "b"]) == {"a": b"1", "b": b"2"}
    assert len(far.asked) == 1


def test_a_write_reaches_both_caches() -> None:
    near, far = Recorder(), Recorder()
    TieredCache(near, far).put_many({"a": b"1"})
    assert near.values == far.values == {"a": b"1"}


def test_no_part_of_the_cache_imports_the_aws_sdk() -> None:
    code = (
        "import pkgutil, sys, importlib, fillmask.cache, fillmask.queue.results\n"
        "for module in pkgutil.iter_modules(fillmask.cache.__path__):\n"
        "    importlib.import_module(f'fillmask.cache.{module.name}')\n"
        "assert {'fillmask.cache.table', 'fillmask.cache.lazy', 'fillmask.aws'} <= {*sys.modules}\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}"
        " & {'boto3', 'botocore', 'urllib3', 'fastapi', 'asyncio', 'dataclasses', 'concurrent'}))"
    )
    run = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=LAYER,
        capture_output=True,
        text=True,
        check=True,
        env={},
    )
    assert run.stdout.strip() == "[]"
