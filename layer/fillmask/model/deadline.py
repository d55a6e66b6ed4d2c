"""The time that is left for an answer, and what a run of the model takes on this instance.

Each way in says when its invocation ends; the engine asks before each run, and gives up work that
would not be done by then. Nothing is half answered.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from fillmask.errors import DeadlineExceeded

LEAST_RUN_TOKENS: Final = 64  # a run of fewer takes about as long
RISE: Final = 0.2  # of the way to a slower measurement, which a busy moment may explain

_end: ContextVar[float] = ContextVar("end", default=float("inf"))  # by time.monotonic()


@contextmanager
def within(milliseconds: float) -> Iterator[None]:
    """Runs of the model inside of this context are done within so many milliseconds, or not begun.

    Holds for this thread and for those that get a copy of its context.
    """
    before = _end.set(time.monotonic() + milliseconds / 1000)
    try:
        yield
    finally:
        _end.reset(before)


class Pace:
    """Seconds per token of the runs so far; it follows quick runs at once and slow ones slowly."""

    def __init__(self) -> None:
        self._seconds_per_token = 0.0  # not measured yet

    def check(self, tokens: int) -> None:
        """Raises DeadlineExceeded where runs of so many tokens, in all, would end too late."""
        left = _end.get() - time.monotonic()
        needed = tokens * self._seconds_per_token
        if left > needed:
            return

        fitting = max(0, int(left / self._seconds_per_token)) if needed else 0
        raise DeadlineExceeded(
            f"The time left is enough for {fitting} tokens of the {tokens} that are still to be "
            "run; ask for less in one request, or give the function more time or memory.",
            tokens=tokens,
            fitting_tokens=fitting,
        )

    def measured(self, tokens: int, seconds: float) -> None:
        """Takes a run into account."""
        pace = seconds / max(tokens, LEAST_RUN_TOKENS)
        known = self._seconds_per_token

        is_quicker = not known or pace < known
        self._seconds_per_token = pace if is_quicker else known + RISE * (pace - known)
