"""An answer computed, from the memory cache, and from the shared table (DynamoDB Local, on this
machine).
"""

import shutil
from collections.abc import Mapping
from typing import Any

from support.dynamodb_local import ENVIRONMENT, DynamoDBLocal

from . import events
from .contestants import OURS, Contestant
from .plan import Plan, say
from .sizing import TOKENS
from .stats import row
from .workers import Worker, running

TABLE = "bench"


def measure(contestants: Mapping[str, Contestant], plan: Plan) -> list[dict[str, Any]]:
    """Rows with source: computed, memory, table."""
    say("answers computed, from memory, from the table")
    warm_up = events.direct(["今天天[MASK]很好。"])
    texts = events.of_length(TOKENS, "cache")
    wanted = [events.direct([next(texts)]) for _ in range(plan.cache_requests)]

    with running(contestants, [OURS], 0, warm_up) as workers:
        rows = _twice(workers[OURS], wanted, "memory")
    if not shutil.which("java"):
        say("Java is needed for DynamoDB Local: the table is left out")
        return rows

    server = DynamoDBLocal()
    try:
        server.create_table(TABLE)
        reach = {
            **ENVIRONMENT,
            "AWS_ENDPOINT_URL_DYNAMODB": server.endpoint,
            "FILLMASK_TABLE": TABLE,
            "FILLMASK_MEMORY_CACHE_BYTES": "0",
        }
        with running(contestants, [OURS], 0, warm_up, **reach) as workers:
            workers[OURS].ask(wanted[:10])  # a young Java is slow
            rows += _twice(workers[OURS], wanted[10:], "table")
    finally:
        server.kill()
    return rows


def _twice(worker: Worker, wanted: list[Any], source: str) -> list[dict[str, Any]]:
    first = worker.ask(wanted)
    second = worker.ask(wanted)
    if not second.answer["results"][0]["cached"]:
        raise RuntimeError(f"the answer did not come from the {source}")
    return [
        row(
            first.seconds,
            source="computed" if source == "memory" else "computed and written to the table",
        ),
        row(second.seconds, source=source),
    ]
