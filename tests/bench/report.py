"""Results as Markdown: the machine, the promises, and the tables of every part."""

from . import tables
from .formats import grid
from .promises import PROMISES, Promise, Results


def markdown(results: Results) -> str:
    """The whole report."""
    parts = [
        _machine(results),
        _promises(results),
        tables.cold_starts(results["cold"]),
        tables.cold_starts_from_disk(results["cold"]),
        tables.warm_latency(results["warm"]),
        tables.throughput(results["throughput"]),
        tables.memory(results["memory"]),
        tables.sizes(results["sizes"]),
        tables.cache(results["cache"]),
        tables.memory_sizes(results["sizing"]),
        tables.dollars(results["cost"]),
    ]
    return "\n\n".join(["# Benchmark", *(part for part in parts if part)]) + "\n"


def _machine(results: Results) -> str:
    machine = results["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    quick = "A quick run: few repetitions. " if results["quick"] else ""
    return (
        f"Taken {machine['day']} on {machine['cores']} cores of {machine['cpu']} "
        f"({', '.join(machine['flags'])}), {machine['memory'] / 2**30:.0f} GiB, "
        f"Linux {machine['kernel']}, Python {machine['python']}; "
        f"load before the run {machine['load']}. Model: {results['model']}. "
        f"{quick}Medians, quartiles in brackets.\n\n{versions}."
    )


def _promises(results: Results) -> str:
    lines = [_promise(promise, promise.measured(results)) for promise in PROMISES]
    return "## Promises\n\n" + grid(["what", "promised", "measured", "kept"], lines)


def _promise(promise: Promise, value: float | None) -> list[str]:
    bound = f"{'>=' if promise.at_least else '<='} {promise.limit:g} {promise.unit}"
    if value is None:
        return [promise.what, bound, "not measured", ""]
    kept = "yes" if promise.kept(value) else "**no**"
    return [promise.what, bound, f"{value:.2f} {promise.unit}", kept]
