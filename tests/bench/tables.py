"""The report's tables, one per part of the results; each is empty if its part was not measured."""

from collections.abc import Sequence

from . import cost
from .contestants import OURS
from .formats import Row, grid, megabytes, names, section, spread
from .sizing import cpus
from .stats import find

LAYER_BYTES = 262_144_000  # Lambda's limit for a function with all its layers


def cold_starts(rows: Sequence[Row]) -> str:
    """Each contestant's cold start, in seconds and in multiples of ours."""
    warm = [row for row in rows if row["cache"] == "warm"]
    lines = []
    for event, count in dict.fromkeys((row["event"], row["cpus"]) for row in warm):
        keys = {"event": event, "cpus": count}
        ours = find(warm, who=OURS, **keys)
        for name in names(rows):
            row = find(warm, who=name, **keys)
            if row and ours:
                lines.append(
                    [
                        f"{event}, {count} CPU",
                        name,
                        spread(row),
                        f"{row['median'] / ours['median']:.1f} x",
                        f"{row['cpu']:.2f}",
                        megabytes(row["peak"]),
                    ]
                )

    head = ["event", "who", "seconds", "to ours", "CPU seconds", "peak MB"]
    return section("Cold start: process start to first answer, page cache warm", head, lines)


def cold_starts_from_disk(rows: Sequence[Row]) -> str:
    """The same with every file read from the disk."""
    lines = [
        [row["event"], row["who"], spread(row), megabytes(row["read"])]
        for row in rows
        if row["cache"] == "cold"
    ]
    head = ["event", "who", "seconds", "MB read from disk"]
    return section("Cold start, files dropped from the page cache, 2 CPUs", head, lines)


def warm_latency(rows: Sequence[Row]) -> str:
    """A table per number of threads, a column per length."""
    if not rows:
        return ""
    lengths = list(dict.fromkeys(row["tokens"] for row in rows))
    tables = []
    for threads in dict.fromkeys(row["threads"] for row in rows):
        heading = f"{threads} thread{'s' if threads > 1 else ''}, ms, p50 / p95:"
        lines = _latencies([row for row in rows if row["threads"] == threads], lengths)
        tables.append(f"{heading}\n\n{grid(['tokens', *map(str, lengths)], lines)}")
    return "## Warm latency: one text, one mask\n\n" + "\n\n".join(tables)


def _latencies(rows: Sequence[Row], lengths: Sequence[int]) -> list[list[str]]:
    lines = []
    for part in ("answer", "session", "around the session"):
        for name in names(rows):
            measured = [find(rows, who=name, tokens=tokens, part=part) for tokens in lengths]
            if any(measured):
                lines.append([f"{name}, {part}", *map(_percentiles, measured)])
    return lines


def _percentiles(row: Row | None) -> str:
    return f"{row['median'] * 1000:.1f} / {row['p95'] * 1000:.1f}" if row else ""


def throughput(rows: Sequence[Row]) -> str:
    """Seconds for many texts, by the number of texts in a request."""
    lines = [
        [
            f"{row['texts']} texts, {row['threads']} threads",
            row["who"],
            "one by one" if row["batch"] == 1 else f"{row['batch']} per request",
            spread(row),
            f"{row['texts'] / row['median']:.0f}",
        ]
        for row in rows
    ]
    head = ["", "who", "way", "seconds", "texts per second"]
    return section("Throughput: texts of mixed length", head, lines)


def memory(rows: Sequence[Row]) -> str:
    """Memory of the process as requests go by."""
    lines = [
        [
            row["who"],
            str(row["requests"]) if row["requests"] else "the first answer",
            megabytes(row["resident"]),
            megabytes(row["peak"]),
        ]
        for row in rows
    ]
    return section("Memory, HTTP events", ["who", "after", "resident MB", "peak MB"], lines)


def sizes(found: dict[str, dict[str, int]]) -> str:
    """Bytes on disk, and whether Lambda takes them as layers."""
    lines = [
        [
            name,
            f"{size['model']:,}",
            f"{size['packages']:,}",
            f"{sum(size.values()):,}",
            "yes" if sum(size.values()) <= LAYER_BYTES else "no",
        ]
        for name, size in found.items()
    ]
    head = ["who", "model", "packages and code", "total", "fits Lambda's layers"]
    return section("Bytes, unzipped", head, lines)


def cache(rows: Sequence[Row]) -> str:
    """An answer computed, from memory, from the table."""
    lines = [[row["source"], spread(row, 1000), f"{row['p95'] * 1000:.2f}"] for row in rows]
    return section("Where an answer comes from, 19 tokens", ["source", "ms", "p95"], lines)


def memory_sizes(rows: Sequence[Row]) -> str:
    """Cold and warm times at Lambda's memory sizes."""
    lines = []
    for row in rows:
        if row["phase"] == "cold":
            keys = {name: row[name] for name in ("who", "event", "megabytes")}
            later = (spread(find(rows, **keys, phase=phase), 1000, 1) for phase in ("next", "warm"))
            lines.append(
                [
                    f"{row['megabytes']} MB, {cpus(row['megabytes']):.2f} CPU",
                    row["event"],
                    row["who"],
                    spread(row),
                    *later,
                    megabytes(row["peak"]),
                ]
            )
    head = ["size", "event", "who", "cold, seconds", "next, ms", "later, ms", "peak MB"]
    return section("Memory sizes: the CPU share of each, by quota from process start", head, lines)


def dollars(rows: Sequence[Row]) -> str:
    """What a million answers cost, and by which formula."""
    lines = [
        [
            f"{row['megabytes']} MB",
            row["event"],
            row["who"],
            f"{row['dollars']:.2f}" if row["fits"] else "does not fit",
        ]
        for row in rows
    ]
    if not lines:
        return ""

    table = section("Dollars per million answers", ["size", "event", "who", "dollars"], lines)
    return (
        f"{table}\n\n10^6 x (MB / 1024 x seconds x ${cost.GB_SECOND:.10f} "
        f"+ ${cost.REQUEST * 1e6:.2f} / 10^6 per request "
        f"+ ${cost.GATEWAY * 1e6:.2f} / 10^6 per request over HTTP), where seconds are "
        f"{1 - cost.COLD_SHARE:.0%} warm and {cost.COLD_SHARE:.0%} cold ones; us-east-1, x86, "
        f"prices of {cost.PRICES_OF}: check them before you count on them."
    )
