"""Results as Markdown: the tables of the README and the machine they were taken on."""

from collections.abc import Iterable, Sequence
from typing import Any

from . import cost
from .contestants import OURS
from .sizing import cpus
from .stats import find
from .targets import TARGETS, Results

Row = dict[str, Any]


def markdown(results: Results) -> str:
    """The whole report."""
    parts = [
        _machine(results),
        _targets(results),
        _cold(results["cold"]),
        _disk(results["cold"]),
        _warm(results["warm"]),
        _throughput(results["throughput"]),
        _memory(results),
        _sizes(results["sizes"]),
        _cache(results["cache"]),
        _sizing(results["sizing"]),
        _cost(results["cost"]),
    ]
    return "\n\n".join(["# Benchmark", *(part for part in parts if part)]) + "\n"


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column left, the others right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def spread(row: Row | None, scale: float = 1.0, digits: int = 2) -> str:
    """Median and quartiles, times `scale`."""
    if row is None:
        return ""
    middle, low, high = (f"{row[name] * scale:.{digits}f}" for name in ("median", "q1", "q3"))
    return f"{middle} ({low}-{high})"


def names(rows: Iterable[Row]) -> list[str]:
    """Contestants in the order they were measured."""
    return list(dict.fromkeys(row["who"] for row in rows))


def _machine(results: Results) -> str:
    it = results["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in it["versions"].items())
    return (
        f"Taken {it['day']} on {it['cores']} cores of {it['cpu']} ({', '.join(it['flags'])}), "
        f"{it['memory'] / 2**30:.0f} GiB, Linux {it['kernel']}, Python {it['python']}; "
        f"load before the run {it['load']}. Model: {results['model']}. "
        f"{'A quick run: few repetitions. ' if results['quick'] else ''}Medians, quartiles in brackets."
        f"\n\n{versions}."
    )


def _targets(results: Results) -> str:
    lines = []
    for target in TARGETS:
        value = target.value(results)
        told = (
            ["not measured", ""]
            if value is None
            else [f"{value:.2f} {target.unit}", "yes" if target.holds(value) else "**no**"]
        )
        lines.append(
            [target.what, f"{'>=' if target.least else '<='} {target.limit:g} {target.unit}", *told]
        )
    return "## Promises\n\n" + grid(["what", "promised", "measured", "holds"], lines)


def _cold(rows: Sequence[Row]) -> str:
    settings = list(
        dict.fromkeys((row["event"], row["cpus"]) for row in rows if row["cache"] == "warm")
    )
    lines = []
    for event, count in settings:
        keys = {"event": event, "cpus": count, "cache": "warm"}
        base = find(rows, who=OURS, **keys)
        for name in names(rows):
            row = find(rows, who=name, **keys)
            if row and base:
                lines.append(
                    [
                        f"{event}, {count} CPU",
                        name,
                        spread(row),
                        f"{row['median'] / base['median']:.1f} x",
                        f"{row['cpu']:.2f}",
                        f"{row['peak'] / 1e6:.0f}",
                    ]
                )
    return "## Cold start: process start to first answer, page cache warm\n\n" + grid(
        ["event", "who", "seconds", "to ours", "CPU seconds", "peak MB"], lines
    )


def _disk(rows: Sequence[Row]) -> str:
    lines = [
        [row["event"], row["who"], spread(row), f"{row['read'] / 1e6:.0f}"]
        for row in rows
        if row["cache"] == "cold"
    ]
    if not lines:
        return ""
    return "## Cold start, files dropped from the page cache, 2 CPUs\n\n" + grid(
        ["event", "who", "seconds", "MB read from disk"], lines
    )


def _warm(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    tables = []
    lengths = list(dict.fromkeys(row["tokens"] for row in rows))
    for threads in dict.fromkeys(row["threads"] for row in rows):
        lines = []
        for part in ("answer", "session", "around the session"):
            for name in names(rows):
                cells = [
                    find(rows, who=name, tokens=tokens, threads=threads, part=part)
                    for tokens in lengths
                ]
                if any(cells):
                    lines.append(
                        [
                            f"{name}, {part}",
                            *(
                                f"{cell['median'] * 1000:.1f} / {cell['p95'] * 1000:.1f}"
                                if cell
                                else ""
                                for cell in cells
                            ),
                        ]
                    )
        tables.append(
            f"{threads} thread{'s' if threads > 1 else ''}, ms, p50 / p95:\n\n"
            + grid(["tokens", *map(str, lengths)], lines)
        )
    return "## Warm latency: one text, one mask\n\n" + "\n\n".join(tables)


def _throughput(rows: Sequence[Row]) -> str:
    lines = [
        [
            f"{row['texts']} texts, {row['threads']} threads",
            row["who"],
            "one by one" if row["batch"] == 1 else f"{row['batch']} a request",
            spread(row),
            f"{row['texts'] / row['median']:.0f}",
        ]
        for row in rows
    ]
    return (
        "## Throughput: texts of mixed length\n\n"
        + grid(["", "who", "way", "seconds", "texts a second"], lines)
        if lines
        else ""
    )


def _memory(results: Results) -> str:
    lines = [
        [
            row["who"],
            str(row["requests"]) if row["requests"] else "the first answer",
            f"{row['resident'] / 1e6:.0f}",
            f"{row['peak'] / 1e6:.0f}",
        ]
        for row in results["memory"]
    ]
    return (
        "## Memory, HTTP events\n\n" + grid(["who", "after", "resident MB", "peak MB"], lines)
        if lines
        else ""
    )


def _sizes(sizes: dict[str, dict[str, int]]) -> str:
    lines = [
        [
            name,
            f"{size['model']:,}",
            f"{size['packages']:,}",
            f"{sum(size.values()):,}",
            "yes" if sum(size.values()) <= 262_144_000 else "no",
        ]
        for name, size in sizes.items()
    ]
    return "## Bytes, unzipped\n\n" + grid(
        ["who", "model", "packages and code", "in all", "fits Lambda's layers"], lines
    )


def _cache(rows: Sequence[Row]) -> str:
    lines = [[row["source"], spread(row, 1000), f"{row['p95'] * 1000:.2f}"] for row in rows]
    return (
        "## Where an answer comes from, 19 tokens\n\n" + grid(["source", "ms", "p95"], lines)
        if lines
        else ""
    )


def _sizing(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        if row["phase"] == "cold":
            keys = {name: row[name] for name in ("who", "event", "megabytes")}
            after = (spread(find(rows, **keys, phase=phase), 1000, 1) for phase in ("next", "warm"))
            lines.append(
                [
                    f"{row['megabytes']} MB, {cpus(row['megabytes']):.2f} CPU",
                    row["event"],
                    row["who"],
                    spread(row),
                    *after,
                    f"{row['peak'] / 1e6:.0f}",
                ]
            )
    return (
        "## Memory sizes: the CPU share of each, by quota from process start\n\n"
        + grid(["size", "event", "who", "cold, seconds", "next, ms", "later, ms", "peak MB"], lines)
        if lines
        else ""
    )


def _cost(rows: Sequence[Row]) -> str:
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
    return (
        "## Dollars per million answers\n\n"
        + grid(["size", "event", "who", "dollars"], lines)
        + (
            f"\n\n10^6 x (MB / 1024 x seconds x ${cost.GB_SECOND:.10f} + ${cost.REQUEST * 1e6:.2f} / 10^6 a request"
            f" + ${cost.GATEWAY * 1e6:.2f} / 10^6 a request over HTTP), where seconds are {1 - cost.COLD_SHARE:.0%} warm"
            f" and {cost.COLD_SHARE:.0%} cold ones; us-east-1, x86, prices of {cost.PRICES_OF}: check them before you"
            " count on them."
        )
    )
