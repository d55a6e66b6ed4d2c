"""What the project promises of its figures, each one comparison; the report says which are kept."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from .contestants import OURS
from .stats import find, ratio

Results = dict[str, Any]
Measure = Callable[[Results], float | None]
USUAL: Final = (16, 32, 64, 128)  # tokens of usual texts


class Promise(NamedTuple):
    """One promise; `measured` gives None where a run did not measure it."""

    what: str
    measured: Measure
    limit: float
    at_least: bool = False  # the limit is a minimum, not a maximum
    unit: str = "x"

    def kept(self, value: float) -> bool:
        """Whether the measured value keeps the promise."""
        return value >= self.limit if self.at_least else value <= self.limit


def cold(event: str, cpus: int, other: str) -> Measure:
    """Ours over another's cold start."""
    keys = {"event": event, "cpus": cpus, "cache": "warm"}
    return lambda results: ratio(results["cold"], {"who": OURS, **keys}, {"who": other, **keys})


def warm(other: str, part: str) -> Measure:
    """Ours over another's warm latency, at the length and thread count where ours does worst."""

    def measured(results: Results) -> float | None:
        return _worst(
            ratio(results["warm"], {**keys, "who": OURS}, {**keys, "who": other})
            for keys in _settings(results["warm"], part)
        )

    return measured


def faster_than_pipeline(results: Results) -> float | None:
    """The pipeline's time over ours, at the usual length where that is smallest."""
    keys = [keys for keys in _settings(results["warm"], "answer") if keys["tokens"] in USUAL]
    worst = _worst(
        ratio(results["warm"], {**one, "who": OURS}, {**one, "who": "pipeline"}) for one in keys
    )
    return 1 / worst if worst else None


def own_python(results: Results) -> float | None:
    """Milliseconds of ours outside the session, for one text of a usual length."""
    return _worst(
        row["median"] * 1000
        for row in results["warm"]
        if row["part"] == "around the session" and row["tokens"] in USUAL
    )


def batch(other: str, size: int) -> Measure:
    """Another way's time over that of our batch of 64 texts, with the most threads measured."""

    def measured(results: Results) -> float | None:
        rows = [row for row in results["throughput"] if row["texts"] == 64]
        keys = {"threads": max((row["threads"] for row in rows), default=0)}
        return ratio(
            rows, {"who": other, "batch": size, **keys}, {"who": OURS, "batch": 64, **keys}
        )

    return measured


def peak(results: Results) -> float | None:
    """Megabytes at the peak of an HTTP cold start."""
    found = find(results["cold"], who=OURS, event="http", cpus=2, cache="warm")
    return found["peak"] / 1e6 if found else None


def peak_share(results: Results) -> float | None:
    """The same over the pipeline's."""
    theirs = find(results["cold"], who="pipeline", event="http", cpus=2, cache="warm")
    ours = peak(results)
    return ours * 1e6 / theirs["peak"] if ours and theirs else None


def growth(results: Results) -> float | None:
    """Resident memory after all random requests over that after the first tenth."""
    rows = [row for row in results["memory"] if row["who"] == OURS and row["requests"]]
    return rows[-1]["resident"] / rows[0]["resident"] if len(rows) > 1 else None


def model_bytes(results: Results) -> float | None:
    """Megabytes of the model's files."""
    return float(results["sizes"][OURS]["model"]) / 1e6


PROMISES: Final = (
    Promise("cold, direct event, to careful", cold("direct", 2, "careful"), 0.28),
    Promise("cold, direct event, to article", cold("direct", 2, "article"), 0.07),
    Promise("cold, HTTP event, 2 CPUs, to careful", cold("http", 2, "careful"), 0.42),
    Promise("cold, HTTP event, 2 CPUs, to article", cold("http", 2, "article"), 0.11),
    Promise("cold, HTTP event, 1 CPU, to careful", cold("http", 1, "careful"), 0.6),
    Promise(
        "warm, one text, whole answer, to article at ours' worst length",
        warm("article", "answer"),
        1.0,
    ),
    Promise(
        "warm, one text, session alone, to article at ours' worst length",
        warm("article", "session"),
        1.0,
    ),
    Promise(
        "warm, one text, times faster than pipeline, 16 to 128 tokens",
        faster_than_pipeline,
        4,
        at_least=True,
    ),
    Promise("warm, our Python around the session, 16 to 128 tokens", own_python, 0.3, unit="ms"),
    Promise("64 mixed texts, times faster than one by one", batch(OURS, 1), 1.8, at_least=True),
    Promise(
        "64 mixed texts, times faster than article's padded batch",
        batch("article", 64),
        2,
        at_least=True,
    ),
    Promise("peak memory, HTTP, after the first answer", peak, 260, unit="MB"),
    Promise("peak memory, HTTP, after the first answer, to pipeline", peak_share, 0.3),
    Promise("memory after all random requests, to after a tenth of them", growth, 1.3),
    Promise("model on disk", model_bytes, 106, unit="MB"),
)


def _settings(rows: Sequence[dict[str, Any]], part: str) -> list[dict[str, Any]]:
    return [
        {"tokens": row["tokens"], "threads": row["threads"], "part": part}
        for row in rows
        if row["who"] == OURS and row["part"] == part
    ]


def _worst(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
