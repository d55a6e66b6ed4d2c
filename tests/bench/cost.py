"""Dollars per million answers: Lambda's prices times the measured seconds.

dollars = 1e6 x (megabytes / 1024 x seconds x GB_SECOND + REQUEST + GATEWAY)
seconds = (1 - cold share) x warm + cold share x cold     (Lambda bills initialisation too)
"""

from collections.abc import Sequence
from math import ceil
from typing import Any, Final

from .stats import find

PRICES_OF: Final = "November 2026"
GB_SECOND: Final = 0.0000166667  # dollars: Lambda, us-east-1, x86
REQUEST: Final = 0.20 / 1e6  # dollars a request: Lambda
GATEWAY: Final = 1.00 / 1e6  # dollars a request: API Gateway, HTTP API
COLD_SHARE: Final = 0.01  # of the answers, assumed


def dollars_per_million(megabytes: int, warm: float, cold: float, *, gateway: bool) -> float:
    """Cost of a million answers at a memory size; seconds are billed in whole milliseconds."""
    billed = (1 - COLD_SHARE) * ceil(warm * 1000) / 1000 + COLD_SHARE * ceil(cold * 1000) / 1000
    return 1e6 * (megabytes / 1024 * billed * GB_SECOND + REQUEST + (GATEWAY if gateway else 0))


def table(sizing: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with who, event, megabytes and dollars, for each size that was measured."""
    rows = []
    for cold in sizing:
        if cold["phase"] != "cold":
            continue
        keys = {name: cold[name] for name in ("who", "event", "megabytes")}
        warm = find(sizing, **keys, phase="warm")
        if warm:
            rows.append(
                {
                    **keys,
                    "fits": cold["peak"] < cold["megabytes"] * 2**20,
                    "dollars": dollars_per_million(
                        cold["megabytes"],
                        warm["median"],
                        cold["median"],
                        gateway=cold["event"] == "http",
                    ),
                }
            )
    return rows
