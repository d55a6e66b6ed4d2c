"""The seam between the service and what remembers its answers; two caches: memory, and a pair.

Values are opaque bytes and keys are hex digests: nothing here knows what an answer is, or imports
anything that costs time at a cold start. The shared table is table.py.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Final, NamedTuple, Protocol

# What an entry takes besides the characters of its key and the bytes of its value: the headers of
# both objects, the tuple with its time, and the links of the OrderedDict (225-262 on CPython 3.11).
ENTRY_BYTES: Final = 300


class Cache(Protocol):
    """What the service asks of a cache. It may forget anything at any time, and never raises."""

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The values at hand, by key; a key that is absent is a miss. Keys may repeat."""

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Keeps these values as well as it can."""


class Entry(NamedTuple):
    """A value with the time it was put, in seconds."""

    written: float
    value: bytes


class MemoryCache:
    """The least recently used entries of this process, bounded in bytes and in age.

    A value counts with its key and ENTRY_BYTES, so that `max_bytes` bounds memory and not only
    payload; 0 switches the cache off. When the clock jumps back (a restored snapshot, a corrected
    host), entries that seem to come from the future are misses, and none lives too long.
    """

    def __init__(
        self, max_bytes: int, ttl_seconds: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._max_bytes = max_bytes
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The values that are young enough; each becomes the most recently used."""
        now = self._clock()
        found: dict[str, bytes] = {}

        with self._lock:
            for key in keys:
                entry = self._entries.get(key)
                if entry is None:
                    continue

                if 0 <= now - entry.written < self._ttl_seconds:
                    self._entries.move_to_end(key)
                    found[key] = entry.value
                else:
                    self._remove(key)
        return found

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Keeps the values that fit at all, and drops the least recently used to make room."""
        now = self._clock()

        with self._lock:
            for key, value in items.items():
                if key in self._entries:
                    self._remove(key)

                size = _size(key, value)
                if size > self._max_bytes:
                    continue

                self._entries[key] = Entry(now, value)
                self._bytes += size
                while self._bytes > self._max_bytes:
                    self._remove(next(iter(self._entries)))

    def _remove(self, key: str) -> None:
        entry = self._entries.pop(key)
        self._bytes -= _size(key, entry.value)


class TieredCache:
    """A near cache before a far one, which is asked only for what the near one lacks.

    What the far one knew starts a new age in the near one, so an answer lives at most for the sum
    of both ages. That is harmless: a key names the model, so an answer can be old but never wrong.
    """

    def __init__(self, near: Cache, far: Cache) -> None:
        self._near = near
        self._far = far

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """What either cache knows, with at most one question to each."""
        found = self._near.get_many(keys)

        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing:
            farther = self._far.get_many(missing)
            if farther:
                self._near.put_many(farther)
                found.update(farther)
        return found

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Keeps the values in both."""
        if items:
            self._near.put_many(items)
            self._far.put_many(items)


def _size(key: str, value: bytes) -> int:
    return len(key) + len(value) + ENTRY_BYTES
