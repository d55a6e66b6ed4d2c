"""A whole run of the benchmark: every part measured, and the report written."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import cache, chart, cold, cost, machine, memory, report, sizing, throughput, warm
from .contestants import Contestant, prepare
from .models import OUT
from .plan import ALL, FULL, QUICK, Plan, say

MEASURES: dict[str, Callable[[Mapping[str, Contestant], Plan], list[dict[str, Any]]]] = {
    "cold": cold.measure,
    "sizing": sizing.measure,
    "warm": warm.measure,
    "throughput": throughput.measure,
    "memory": memory.measure,
    "cache": cache.measure,
}


def run(model: Path | None, parts: Sequence[str], *, quick: bool) -> None:
    """Measures, writes .build/bench/{results.json,report.md,chart.svg} and prints the report."""
    started = time.monotonic()
    field = prepare(model)
    say(f"everything is there after {time.monotonic() - started:.0f} s; measuring")

    results = measure(field, QUICK if quick else FULL, parts)
    results["model"] = model.name if model else "random weights in the shape of bert-base-chinese"
    results["quick"] = quick
    print(write(results, OUT))
    say(f"{time.monotonic() - started:.0f} s in all; see {OUT}")


def measure(field: Mapping[str, Contestant], plan: Plan, parts: Sequence[str]) -> dict[str, Any]:
    """Every part's rows under its name; a part left out has none."""
    results: dict[str, Any] = {
        "machine": machine.describe(),
        "sizes": {name: field[name].sizes() for name in ALL},
    }
    for name, part in MEASURES.items():
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
