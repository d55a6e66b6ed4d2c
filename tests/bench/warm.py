"""Warm latency: one text with one mask, from the event to the answer, contestants in turn."""

import time
from collections.abc import Mapping
from typing import Any

from . import events
from .contestants import Contestant
from .plan import Plan, say
from .stats import row
from .workers import running

SETTLE = 0.01  # seconds: threads of the last answer may still spin


def measure(contestants: Mapping[str, Contestant], plan: Plan) -> list[dict[str, Any]]:
    """Rows with tokens, threads and part: the whole answer, or the session's share of it."""
    rows = []
    for threads in plan.threads:
        with running(
            contestants, plan.warm_names, threads, events.direct(["今天天[MASK]很好。"])
        ) as workers:
            for tokens in plan.lengths:
                say(f"warm latency, {tokens} tokens, {threads} threads")
                rows += _length(workers, plan, tokens, threads)
    return rows


def _length(
    workers: Mapping[str, Any], plan: Plan, tokens: int, threads: int
) -> list[dict[str, Any]]:
    answers: dict[str, list[float]] = {name: [] for name in workers}
    sessions: dict[str, list[float]] = {name: [] for name in workers}
    texts = events.of_length(tokens, threads)

    for number in range(plan.warm_rounds + 2):
        event = events.direct([next(texts)])  # new each round: no cache can know it
        for name, worker in workers.items():
            time.sleep(SETTLE)
            times = worker.ask([event])
            if number >= 2:  # the first two of a length grow buffers
                answers[name] += times.seconds
                sessions[name] += times.session

    rows = [
        row(values, who=name, tokens=tokens, threads=threads, part="answer")
        for name, values in answers.items()
    ]
    rows += [
        row(values, who=name, tokens=tokens, threads=threads, part="session")
        for name, values in sessions.items()
        if any(values)
    ]
    own = [whole - inside for whole, inside in zip(answers["ours"], sessions["ours"], strict=True)]
    return [*rows, row(own, who="ours", tokens=tokens, threads=threads, part="around the session")]
