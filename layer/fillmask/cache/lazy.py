"""A table cache whose client is built beside the answers, never before one.

Importing the AWS SDK and building a client costs about 200 ms. Until that is done this cache knows
nothing and remembers a bounded number of writes; the building starts, on a thread, with the first write,
which is when the first answer has been computed, and ends with writing what waits.
It is not a queue: what it remembers may be forgotten.
"""

from collections.abc import Callable, Mapping, Sequence
from threading import Lock, Thread
from typing import Final

from fillmask.cache.breaker import Breaker
from fillmask.cache.table import TableCache, fits_item, reason_for

PENDING_ITEMS: Final = 100  # four writes of 25: what one write's deadline has room for
PENDING_BYTES: Final = 4 * 1024 * 1024


class LazyTableCache:
    """A Cache that is empty until its TableCache is connected, and empty again after disconnect()."""

    def __init__(self, connect: Callable[[], TableCache], breaker: Breaker | None = None) -> None:
        self._connect = connect
        self._breaker = breaker or Breaker("Connecting to the cache table")
        self._table: TableCache | None = None
        self._pending: dict[str, bytes] = {}
        self._state = Lock()  # guards the two above; held for moments
        self._building = Lock()  # held while a client is built or closed

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Ask the table if it is connected; otherwise everything is a miss."""
        table = self._table
        return table.get_many(keys) if table else {}

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Write to the table, and first what was put before it was connected; or remember, and connect."""
        with self._state:
            table = self._table
            if table:
                items = {**self._pending, **items}
                self._pending.clear()
            else:
                self._remember(items)
        if table:
            table.put_many(items)
        elif items and self._breaker.allows():
            self._start()

    def connect_now(self) -> None:
        """Connect in this call, where time is free: before the first event of a provisioned environment."""
        with self._building:
            if self._table:
                return
            try:
                table = self._connect()
            except Exception as error:  # noqa: BLE001  no region, no SDK, ...: the answers do not need it
                self._breaker.failed(reason_for(error))
                return
            self._breaker.succeeded()
            with self._state:
                self._table = table

    def disconnect(self) -> None:
        """Close and forget the client, as before a snapshot; the next write builds another."""
        with self._building, self._state:
            table, self._table = self._table, None
        if table:
            table.close()

    def _remember(self, items: Mapping[str, bytes]) -> None:
        self._pending.update((key, value) for key, value in items.items() if fits_item(key, value))
        size = sum(map(len, self._pending.values()))
        while size > PENDING_BYTES or len(self._pending) > PENDING_ITEMS:
            size -= len(self._pending.pop(next(iter(self._pending))))

    def _start(self) -> None:
        if self._building.locked():
            return
        try:
            Thread(target=self._connect_and_flush, name="cache-table", daemon=True).start()
        except RuntimeError as error:  # no thread to be had
            self._breaker.failed(reason_for(error))

    def _connect_and_flush(self) -> None:
        """A later write may never come: what waits is written as soon as there is a table."""
        self.connect_now()
        self.put_many({})
