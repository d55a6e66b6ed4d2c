"""A circuit breaker: what failed is left alone for a while, so that its users stop paying for it."""

import logging
import time
from collections.abc import Callable
from threading import Lock
from typing import Final

PAUSE_SECONDS: Final = 10.0
LONGEST_PAUSE_SECONDS: Final = 300.0

logger = logging.getLogger("fillmask")


class Breaker:
    """Stops asking something that failed: one warning, a pause, then one try at a time, each pause longer."""

    def __init__(self, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._clock = clock
        self._lock = Lock()
        self._opened_at: float | None = None
        self._pause = PAUSE_SECONDS

    def allows(self) -> bool:
        """Say whether to try now. After a pause one caller is let through, the others wait another one."""
        with self._lock:
            if self._opened_at is None:
                return True
            now = self._clock()
            if 0 <= now - self._opened_at < self._pause:
                return False
            self._opened_at = now
            return True

    def failed(self, reason: str) -> None:
        """Open, or stay open for twice as long as before."""
        with self._lock:
            first = self._opened_at is None
            self._pause = PAUSE_SECONDS if first else min(2 * self._pause, LONGEST_PAUSE_SECONDS)
            self._opened_at = self._clock()
        if first:
            logger.warning("%s is left out until it recovers: %s", self._what, reason)

    def succeeded(self) -> None:
        """Close."""
        with self._lock:
            recovered = self._opened_at is not None
            self._opened_at = None
        if recovered:
            logger.info("%s is in use again", self._what)
