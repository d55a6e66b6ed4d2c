"""What the builder says while it works."""

import sys
from typing import Final

BAR: Final = 24  # characters of a full bar


def say(message: str) -> None:
    """Progress, on standard error."""
    print(f"model: {message}", file=sys.stderr, flush=True)


class Progress:
    """A bar on a terminal, redrawn in place; nothing where standard error is a file."""

    def __init__(self, name: str, total: int) -> None:
        self._name = name
        self._total = total
        self._done = 0
        self._shown = sys.stderr.isatty()

    def advance(self, count: int) -> None:
        """Count more as done."""
        self._done += count
        if not self._shown:
            return

        filled = BAR * self._done // self._total
        bar = "█" * filled + "·" * (BAR - filled)
        end = "\n" if self._done >= self._total else ""
        line = f"\r{self._name} {bar} {self._done} of {self._total}"
        print(line, end=end, file=sys.stderr, flush=True)
