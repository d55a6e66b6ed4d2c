"""Cold and warm times under the CPU quota of Lambda's memory sizes, where a cgroup may be made.

The quota holds from the process's start. Lambda lends a function a whole CPU while it initialises,
so there the small sizes start faster than here; answers to later events are as here.
"""

from collections.abc import Mapping
from typing import Any

from . import cgroup, events
from .cold import TEXT
from .contestants import Contestant
from .instance import Start, start
from .plan import Plan, say
from .stats import row

MEGABYTES_PER_CPU = 1769  # AWS: one whole vCPU at 1,769 MB, in proportion below and above
TOKENS = 19


def cpus(megabytes: int) -> float:
    """The share of CPUs that Lambda gives at a memory size."""
    return megabytes / MEGABYTES_PER_CPU


def measure(contestants: Mapping[str, Contestant], plan: Plan) -> list[dict[str, Any]]:
    """Rows with megabytes, event and phase; none where no quota can be set.

    The phases: cold (the first answer), next (the few after it), warm (the last ones).
    """
    rows = []
    for megabytes in plan.memories:
        with cgroup.quota(cpus(megabytes)) as wrapper:
            if wrapper is None:
                say("no sizing table: a CPU quota takes root and a cpu cgroup")
                return []
            for kind in ("direct", "http"):
                rows += _series(contestants, plan, megabytes, kind, wrapper)
    return rows


def _series(
    contestants: Mapping[str, Contestant],
    plan: Plan,
    megabytes: int,
    kind: str,
    wrapper: tuple[str, ...],
) -> list[dict[str, Any]]:
    starts: dict[str, list[Start]] = {name: [] for name in plan.memory_names}
    encode, texts = events.KINDS[kind], events.of_length(TOKENS, "sizing")

    for _ in range(plan.memory_rounds):
        for name in plan.memory_names:
            then = [encode([next(texts)]) for _ in range(plan.memory_events)]
            one = start(
                contestants[name],
                encode([TEXT]),
                wrapper=wrapper,
                then=then,
                environment={"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(megabytes)},
            )
            say(f"{megabytes} MB, {cpus(megabytes):.2f} CPU, {kind}: {name} {one.seconds:.3f} s")
            starts[name].append(one)

    rows = []
    for name, found in starts.items():
        keys = {
            "who": name,
            "event": kind,
            "megabytes": megabytes,
            "peak": max(one.peak for one in found),
        }
        few = plan.memory_events // 4
        phases = {
            "cold": [one.seconds for one in found],
            "next": [seconds for one in found for seconds in one.later[:few]],
            "warm": [seconds for one in found for seconds in one.later[-few:]],
        }
        rows += [row(values, **keys, phase=phase) for phase, values in phases.items()]
    return rows
