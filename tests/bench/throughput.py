"""Throughput: many texts of mixed length, as requests of 64 texts and one by one; no cache."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from fillmask import limits

from . import events
from .contestants import Contestant
from .plan import Plan, say
from .stats import row
from .warm import SETTLE
from .workers import Worker, running

REQUEST = limits.MAX_TEXTS  # texts of a request
WAYS = (("ours", REQUEST), ("ours", 1), ("article", REQUEST), ("article", 1), ("pipeline", REQUEST))
MANY = ("ours", "article")  # who is given more than one request's texts: others would take minutes


def measure(contestants: Mapping[str, Contestant], plan: Plan) -> list[dict[str, Any]]:
    """Rows with texts and batch (texts a request): seconds for all of them."""
    names = list(dict.fromkeys(name for name, _ in WAYS))
    rows = []
    for threads in plan.batch_threads:
        with running(
            contestants,
            names,
            threads,
            events.direct(["今天天[MASK]很好。"]),
            FILLMASK_MEMORY_CACHE_BYTES="0",
        ) as workers:
            for count in plan.batches:
                say(f"throughput, {count} texts, {threads} threads")
                rows += _round(workers, plan, count, threads)
    return rows


def _round(
    workers: Mapping[str, Worker], plan: Plan, count: int, threads: int
) -> list[dict[str, Any]]:
    texts = events.mixed(count, count)
    ways = [
        (name, batch)
        for name, batch in WAYS
        if name in workers and (count <= REQUEST or name in MANY)
    ]
    found: dict[tuple[str, int], list[float]] = {way: [] for way in ways}
    for number in range(plan.batch_rounds + 1):
        for name, batch in ways:
            time.sleep(SETTLE)
            seconds = sum(workers[name].ask(list(map(events.direct, _cut(texts, batch)))).seconds)
            if number:  # the first round grows buffers
                found[name, batch].append(seconds)
    return [
        row(values, who=name, texts=count, batch=batch, threads=threads)
        for (name, batch), values in found.items()
    ]


def _cut(texts: Sequence[str], batch: int) -> list[list[str]]:
    return [list(texts[at : at + batch]) for at in range(0, len(texts), batch)]
