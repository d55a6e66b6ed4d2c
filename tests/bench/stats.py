"""Medians with their spread. Means are not used: one scheduling hiccup would decide them."""

from collections.abc import Sequence
from typing import Any, NamedTuple


class Summary(NamedTuple):
    """What is kept of a series of measurements, in the unit of its values."""

    median: float
    q1: float
    q3: float
    p95: float
    runs: int


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0..1) of the values lie, linear between neighbours."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def summarise(values: Sequence[float]) -> Summary:
    """Median, quartiles and 95th percentile of at least one value."""
    median, q1, q3, p95 = (percentile(values, share) for share in (0.5, 0.25, 0.75, 0.95))
    return Summary(median, q1, q3, p95, len(values))


def row(values: Sequence[float], **keys: Any) -> dict[str, Any]:
    """A row of results: what was measured (`keys`) and its summary."""
    return {**keys, **summarise(values)._asdict()}


def find(rows: Sequence[dict[str, Any]], **keys: Any) -> dict[str, Any] | None:
    """The first row that has these keys, or None."""
    return next(
        (one for one in rows if all(one.get(name) == value for name, value in keys.items())), None
    )


def ratio(
    rows: Sequence[dict[str, Any]], ours: dict[str, Any], theirs: dict[str, Any]
) -> float | None:
    """The median of the row `ours` over that of `theirs`; None where one was not measured."""
    above, below = find(rows, **ours), find(rows, **theirs)
    return above["median"] / below["median"] if above and below and below["median"] else None
