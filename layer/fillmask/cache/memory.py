"""The seam between the service and what remembers its answers; the memory cache; two caches in a row.

Values are opaque bytes and keys are hex digests made by the service: nothing here knows what an answer
is, and nothing here imports anything that costs time at a cold start. The shared table is cache_table.py.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Final, Protocol

# What one entry takes beside the characters of its key and the bytes of its value: the headers of both
# objects, the tuple with its clock value, and the links of the OrderedDict (225-262 on CPython 3.11).
ENTRY_BYTES: Final = 300


class Cache(Protocol):
    """What the service asks of a cache. A cache may forget anything at any time, and never raises."""

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the values at hand by key; a key that is missing here is a miss. Keys may repeat."""

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Keep these values as well as it can."""


class MemoryCache:
    """Least recently used entries of this process, bounded in bytes and in age.

    A value counts with its key and ENTRY_BYTES, so `max_bytes` bounds memory and not only payload;
    0 switches the cache off. A clock that jumps back (a restored snapshot, a corrected host) makes
    entries that seem to come from the future a miss, never an entry that lives too long.
    """

    def __init__(
        self, max_bytes: int, ttl_seconds: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._max_bytes = max_bytes
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._entries: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return what is here and young enough; whatever is returned becomes the most recently used."""
        now = self._clock()
        found: dict[str, bytes] = {}
        with self._lock:
            for key in keys:
                entry = self._entries.get(key)
                if entry is None:
                    continue
                written, value = entry
                if 0 <= now - written < self._ttl_seconds:
                    self._entries.move_to_end(key)
                    found[key] = value
                else:
                    self._remove(key)
        return found

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Keep the values that fit at all, and drop the least recently used until the rest fits too."""
        now = self._clock()
        with self._lock:
            for key, value in items.items():
                if key in self._entries:
                    self._remove(key)
                if _size(key, value) > self._max_bytes:
                    continue
                self._entries[key] = (now, value)
                self._bytes += _size(key, value)
                while self._bytes > self._max_bytes:
                    self._remove(next(iter(self._entries)))

    def _remove(self, key: str) -> None:
        _, value = self._entries.pop(key)
        self._bytes -= _size(key, value)


class TieredCache:
    """A near cache before a far one: the far one is asked only for what the near one lacks.

    What the far one knew is kept in the near one with a new age, so an answer lives at most for the sum
    of both ages. That is harmless: a key names the model, so its answer never becomes wrong, only old.
    """

    def __init__(self, first: Cache, second: Cache) -> None:
        self._first = first
        self._second = second

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return what either cache knows; one question to each at most."""
        found = self._first.get_many(keys)
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing:
            farther = self._second.get_many(missing)
            if farther:
                self._first.put_many(farther)
                found.update(farther)
        return found

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Keep the values in both."""
        if items:
            self._first.put_many(items)
            self._second.put_many(items)


def _size(key: str, value: bytes) -> int:
    return len(key) + len(value) + ENTRY_BYTES
