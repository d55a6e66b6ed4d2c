"""A circuit breaker: what failed is left alone for a while, so that callers stop paying for it."""

import logging
import time
from collections.abc import Callable
from threading import Lock
from typing import Final

PAUSE_SECONDS: Final = 10.0
LONGEST_PAUSE_SECONDS: Final = 300.0
SLOW_IN_A_ROW: Final = 2  # successes that together cost what one time-out does

log = logging.getLogger("fillmask")


class Breaker:
    """Stops the use of something that failed: one warning, a pause, then one try per pause.

    Each pause is twice as long as the one before, up to LONGEST_PAUSE_SECONDS.
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name  # begins the sentences in the log
        self._clock = clock
        self._lock = Lock()
        self._opened_at: float | None = None
        self._pause = PAUSE_SECONDS
        self._slow = 0  # slow successes since the last quick one

    def allows(self) -> bool:
        """Whether to try now. After a pause one caller may; the others wait once more."""
        with self._lock:
            if self._opened_at is None:
                return True

            now = self._clock()
            if 0 <= now - self._opened_at < self._pause:
                return False

            self._opened_at = now
            return True

    def failed(self, reason: str) -> None:
        """Opens the breaker, or keeps it open for twice as long as before."""
        with self._lock:
            first = self._opened_at is None
            self._pause = PAUSE_SECONDS if first else min(2 * self._pause, LONGEST_PAUSE_SECONDS)
            self._opened_at = self._clock()

        if first:
            log.warning("%s is left out until it recovers: %s", self._name, reason)

    def slow(self, reason: str) -> None:
        """A success that took too long: SLOW_IN_A_ROW of them are a failure, and so is a retry."""
        with self._lock:
            self._slow += 1
            enough = self._slow >= SLOW_IN_A_ROW or self._opened_at is not None

        if enough:
            self.failed(reason)

    def succeeded(self) -> None:
        """Closes the breaker."""
        with self._lock:
            self._slow = 0
            recovered = self._opened_at is not None
            self._opened_at = None

        if recovered:
            log.info("%s is in use again", self._name)
