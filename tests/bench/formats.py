"""Pieces of the report: tables, sections, and figures with their spread."""

from collections.abc import Iterable, Sequence
from typing import Any

Row = dict[str, Any]


def section(title: str, head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table under a heading; empty without lines."""
    return f"## {title}\n\n{grid(head, lines)}" if lines else ""


def grid(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column left, the others right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])


def spread(row: Row | None, scale: float = 1.0, digits: int = 2) -> str:
    """Median and quartiles, times `scale`; empty without a row."""
    if row is None:
        return ""
    median, low, high = (f"{row[name] * scale:.{digits}f}" for name in ("median", "q1", "q3"))
    return f"{median} ({low}-{high})"


def megabytes(size: float) -> str:
    """Whole megabytes of 10^6 bytes."""
    return f"{size / 1e6:.0f}"


def names(rows: Iterable[Row]) -> list[str]:
    """The contestants in the order they were measured."""
    return list(dict.fromkeys(row["who"] for row in rows))
