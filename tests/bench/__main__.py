"""The command: ./build.sh bench [--quick] [--model DIR] [--only PART,...]."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import cache, chart, cold, cost, machine, memory, report, sizing, throughput, warm
from .contestants import OUT, Contestant, prepare
from .plan import ALL, FULL, QUICK, Plan, say

PARTS: dict[str, Callable[[Mapping[str, Contestant], Plan], list[dict[str, Any]]]] = {
    "cold": cold.measure,
    "sizing": sizing.measure,
    "warm": warm.measure,
    "throughput": throughput.measure,
    "memory": memory.measure,
    "cache": cache.measure,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write .build/bench/{results.json,report.md,chart.svg}, print the report."""
    options = _parser().parse_args(arguments)
    parts = options.only.split(",") if options.only else list(PARTS)
    if unknown := set(parts) - set(PARTS):
        print(
            f"error: there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}",
            file=sys.stderr,
        )
        return 1
    started = time.monotonic()
    field = prepare(options.model)
    say(f"everything is there after {time.monotonic() - started:.0f} s; measuring")
    results = measure(field, QUICK if options.quick else FULL, parts)
    results["model"] = (
        options.model.name if options.model else "random weights in the shape of bert-base-chinese"
    )
    results["quick"] = options.quick
    text = write(results, OUT)
    print(text)
    say(f"{time.monotonic() - started:.0f} s in all; see {OUT}")
    return 0


def measure(field: Mapping[str, Contestant], plan: Plan, parts: Sequence[str]) -> dict[str, Any]:
    """Every part's rows under its name; a part left out has none."""
    results: dict[str, Any] = {
        "machine": machine.describe(),
        "sizes": {name: field[name].sizes() for name in ALL},
    }
    for name, part in PARTS.items():
        results[name] = part(field, plan) if name in parts else []
    results["cost"] = cost.table(results["sizing"])
    return results


def write(results: dict[str, Any], out: Path) -> str:
    """Results as JSON, Markdown and SVG in `out`; the Markdown."""
    text = report.markdown(results)
    (out / "results.json").write_text(
        json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8"
    )
    (out / "report.md").write_text(text, "utf-8")
    (out / "chart.svg").write_text(chart.svg(chart.panels(results)), "utf-8")
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "build.sh bench", description="Measure against the usual alternatives."
    )
    parser.add_argument(
        "--quick", action="store_true", help="two minutes: fewer sizes and repetitions"
    )
    parser.add_argument(
        "--model",
        type=Path,
        metavar="DIR",
        help="a checkpoint's folder; default: random weights in the shape of bert-base-chinese",
    )
    parser.add_argument("--only", metavar="PART,...", help=f"some of {', '.join(PARTS)}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
