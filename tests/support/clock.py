"""A clock for what takes one: caches and breakers."""


class Clock:
    """Stands until it is moved."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now  # seconds

    def __call__(self) -> float:
        return self.now
