"""Resident memory of the function: after the first answer, and as random requests go by."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

from support import lambda_opt

from . import events
from .cold import TEXT
from .contestants import Contestant
from .instance import TIMEOUT, usage
from .plan import Plan, say


def measure(contestants: Mapping[str, Contestant], plan: Plan) -> list[dict[str, Any]]:
    """Rows with requests (0: only the first answer), peak and current resident bytes."""
    rows = []
    for name in plan.request_names:
        say(f"memory over {plan.requests[1]} requests: {name}")
        rows += _grow(contestants[name], plan.requests)
    return rows


def _grow(who: Contestant, marks: tuple[int, int]) -> list[dict[str, Any]]:
    rows = []
    with lambda_opt.LambdaProcess(who.where, who.environment) as process:
        for number, texts in enumerate(requests(marks[-1])):
            events.check(process.api.invoke(events.http(texts), TIMEOUT).payload)
            if number in (0, *marks):
                _, peak, resident, _ = usage(process.process.pid)
                rows.append(
                    {"who": who.name, "requests": number, "peak": peak, "resident": resident}
                )
    return rows


def requests(count: int) -> Iterator[list[str]]:
    """One plain request, then `count` random ones: mostly a short text, at times long or many."""
    chance = random.Random(7)
    yield [TEXT]
    for number in range(count):
        kind = chance.random()
        if kind < 0.8:
            yield [next(events.of_length(chance.randint(4, 40), number))]
        elif kind < 0.95:
            yield [next(events.of_length(chance.randint(40, 200), number))]
        elif kind < 0.97:
            yield [next(events.of_length(chance.randint(200, 512), number))]
        else:
            yield events.mixed(chance.randint(2, 16), number)
