"""What the builder says while it works."""

import sys


def say(message: str) -> None:
    """Progress, on standard error."""
    print(f"model: {message}", file=sys.stderr, flush=True)
