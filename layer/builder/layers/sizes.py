"""How big the layers and the function are, against Lambda's limit; folders go by part name."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from builder.layers.wheels import LayerError

LIMIT: Final = 262_144_000  # bytes of a function and its layers together, unzipped: Lambda's quota
NAMED_IN_AN_ERROR: Final = 5
NAMED_IN_THE_REPORT: Final = 10

Row = tuple[str, int]  # what, and its bytes


def by_file(folder: Path) -> dict[str, int]:
    """Bytes of every file under `folder`, by relative path."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.stat().st_size for path in files}


def total(folder: Path) -> int:
    """Bytes of all files under `folder`."""
    return sum(by_file(folder).values())


def biggest(folders: Mapping[str, Path]) -> list[Row]:
    """Packages and model files by size, the biggest first."""
    found: Counter[str] = Counter()
    for part, folder in folders.items():
        for path, size in by_file(folder).items():
            top = "/".join(path.split("/")[:2])
            found[f"{part}: {top}"] += size
    return sorted(found.items(), key=lambda row: (-row[1], row[0]))


def check(folders: Mapping[str, Path], limit: int = LIMIT) -> int:
    """Bytes of all folders together; raises LayerError over `limit`, naming the biggest things."""
    size = sum(total(folder) for folder in folders.values())
    if size > limit:
        rows = biggest(folders)[:NAMED_IN_AN_ERROR]
        names = "; ".join(f"{name} {count:,}" for name, count in rows)
        raise LayerError(
            f"{size:,} bytes in total are over Lambda's limit of {limit:,}; biggest: {names}."
            " A container image may have 10 GB: ./build.sh image."
        )
    return size


def report(folders: Mapping[str, Path]) -> str:
    """A table: bytes by part, their sum against the limit, and the biggest things inside."""
    parts = [(name, total(folder)) for name, folder in folders.items()]
    size = sum(count for _, count in parts)
    summed = [("total", size), (f"left of {LIMIT:,}", LIMIT - size)]
    inside = biggest(folders)[:NAMED_IN_THE_REPORT]

    width = max(len(name) for name, _ in [*parts, *summed, *inside])
    return "\n".join(
        [*_lines(parts, width), *_lines(summed, width), "", "biggest", *_lines(inside, width)]
    )


def _lines(rows: list[Row], width: int) -> list[str]:
    return [f"{name:<{width}} {size:>13,}" for name, size in rows]
