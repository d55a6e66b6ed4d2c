"""Cold starts: process start to first answer, fresh processes in turn, by event, CPUs and page
cache.
"""

from collections.abc import Mapping
from typing import Any

from . import events
from .contestants import OURS, Contestant
from .instance import PIN, Start, forget, start
from .plan import Plan, say
from .stats import row

TEXT = "床前明月光，疑是地[MASK]霜。"
MEMORY = {1: "1769", 2: "3538"}  # megabytes at which Lambda gives so many CPUs


def measure(contestants: Mapping[str, Contestant], plan: Plan) -> list[dict[str, Any]]:
    """Rows with event, cpus and cache, and with peak memory, CPU seconds and bytes read."""
    rows = []
    for name in plan.cold_names[plan.cpus[0]]:
        say(f"filling the page cache: {name}")
        start(contestants[name], events.direct([TEXT]))

    for cpus in plan.cpus:
        for kind in plan.kinds[cpus]:
            rows += _series(
                contestants, plan.cold_names[cpus], plan.cold_rounds, kind, cpus, "warm"
            )

    if plan.disk_rounds:
        rows += _series(contestants, plan.disk_names, plan.disk_rounds, "direct", 2, "cold")
        rows += _series(contestants, [OURS], plan.disk_rounds, "http", 2, "cold")
    return rows


def _series(
    contestants: Mapping[str, Contestant],
    names: list[str],
    rounds: int,
    kind: str,
    cpus: int,
    cache: str,
) -> list[dict[str, Any]]:
    starts: dict[str, list[Start]] = {name: [] for name in names}
    event = events.KINDS[kind]([TEXT])

    for _ in range(rounds):
        for name in names:
            if cache == "cold":
                forget(contestants[name].where)
            one = start(
                contestants[name],
                event,
                wrapper=PIN.get(cpus, ()),
                environment={"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": MEMORY[cpus]},
            )
            say(f"cold start, {kind}, {cpus} CPU, page cache {cache}: {name} {one.seconds:.3f} s")
            starts[name].append(one)

    return [
        row(
            [one.seconds for one in found],
            who=name,
            event=kind,
            cpus=cpus,
            cache=cache,
            cpu=_middle(found, "cpu"),
            peak=_middle(found, "peak"),
            read=_middle(found, "read"),
        )
        for name, found in starts.items()
    ]


def _middle(found: list[Start], name: str) -> float:
    values = sorted(float(getattr(one, name)) for one in found)
    return values[len(values) // 2]
