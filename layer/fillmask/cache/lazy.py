"""A table cache whose client is built next to the answers, never before one.

Importing the AWS SDK and building a client takes about 200 ms. Until then this cache knows nothing
and holds a bounded number of writes. The building starts on a thread with the first write, which is
when the first answer has been computed, and ends with writing what was held.

It is not a queue: what it holds may be forgotten.
"""

from collections.abc import Callable, Mapping, Sequence
from threading import Lock, Thread
from typing import Final

from fillmask import aws
from fillmask.cache import item
from fillmask.cache.breaker import Breaker
from fillmask.cache.table import TableCache

PENDING_ITEMS: Final = 100  # four writes of 25: what one write's deadline has room for
PENDING_BYTES: Final = 4 * 1024 * 1024


class LazyTableCache:
    """A Cache that is empty until its TableCache is connected, and again after disconnect()."""

    def __init__(self, connect: Callable[[], TableCache], breaker: Breaker | None = None) -> None:
        self._connect = connect
        self._breaker = breaker or Breaker("Connecting to the cache table")
        self._table: TableCache | None = None
        self._pending: dict[str, bytes] = {}
        self._state = Lock()  # guards the two above; held for moments
        self._building = Lock()  # held while a client is built or closed

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """What the table knows; nothing before it is connected."""
        table = self._table
        return table.get_many(keys) if table else {}

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Writes the values, and those held before, to the table; or holds them and connects."""
        with self._state:
            table = self._table
            if table:
                items = {**self._pending, **items}
                self._pending.clear()
            else:
                self._hold(items)

        if table:
            table.put_many(items)
        elif items and self._breaker.allows():
            self._start()

    def connect_now(self) -> None:
        """Connects in this call. For when time is free, before a provisioned first event."""
        with self._building:
            if self._table:
                return

            try:
                table = self._connect()
            except Exception as error:  # noqa: BLE001  no region, no SDK, ...: answers do without
                self._breaker.failed(aws.reason_for(error))
                return

            self._breaker.succeeded()
            with self._state:
                self._table = table

    def disconnect(self) -> None:
        """Closes and forgets the client, as before a snapshot; the next write builds another."""
        with self._building, self._state:
            table, self._table = self._table, None

        if table:
            table.close()

    def _hold(self, items: Mapping[str, bytes]) -> None:
        """Holds what the table could take, and forgets the oldest beyond the bounds."""
        for key, value in items.items():
            if item.fits(key, value):
                self._pending[key] = value

        size = sum(len(value) for value in self._pending.values())
        while size > PENDING_BYTES or len(self._pending) > PENDING_ITEMS:
            oldest = next(iter(self._pending))
            size -= len(self._pending.pop(oldest))

    def _start(self) -> None:
        if self._building.locked():
            return

        try:
            Thread(target=self._connect_and_flush, name="cache-table", daemon=True).start()
        except RuntimeError as error:  # there is no thread to be had
            self._breaker.failed(aws.reason_for(error))

    def _connect_and_flush(self) -> None:
        # Another write may never come, so what is held is written as soon as there is a table.
        self.connect_now()
        self.put_many({})
