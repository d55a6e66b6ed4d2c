"""How much is measured: a full run of about half an hour, and one of two."""

import sys
from typing import NamedTuple

from .contestants import BARE, COLD, OURS, WITH_TORCH

ALL = [name for name in COLD if name not in {BARE, WITH_TORCH}]
LIGHT = [OURS, "careful"]
WARM = [*ALL, "openvino int8", "openvino float32"]


class Plan(NamedTuple):
    """Repetitions and sizes; a number of 0 leaves its part out."""

    cpus: tuple[int, ...]
    kinds: dict[int, tuple[str, ...]]
    cold_names: dict[int, list[str]]
    cold_rounds: int
    disk_names: list[str]
    disk_rounds: int
    memories: tuple[int, ...]
    memory_names: list[str]
    memory_rounds: int
    memory_events: int
    warm_names: list[str]
    threads: tuple[int, ...]
    lengths: tuple[int, ...]
    warm_rounds: int
    batch_threads: tuple[int, ...]
    batches: tuple[int, ...]
    batch_rounds: int
    requests: tuple[int, int]
    request_names: list[str]
    cache_requests: int


FULL = Plan(
    cpus=(2, 1),
    kinds={2: ("direct", "http", "sqs"), 1: ("direct", "http", "sqs")},
    cold_names={2: list(COLD), 1: ALL},
    cold_rounds=7,
    disk_names=ALL,
    disk_rounds=3,
    memories=(512, 1024, 1769, 3008),
    memory_names=[OURS, "careful", "article"],
    memory_rounds=2,
    memory_events=40,
    warm_names=WARM,
    threads=(1, 2),
    lengths=(8, 16, 32, 64, 128, 512),
    warm_rounds=20,
    batch_threads=(1, 2),
    batches=(64, 512),
    batch_rounds=3,
    requests=(200, 2000),
    request_names=[OURS, "careful", "article"],
    cache_requests=200,
)
QUICK = Plan(
    cpus=(2, 1),
    kinds={2: ("direct", "http"), 1: ("direct", "http")},
    cold_names={2: ALL, 1: LIGHT},
    cold_rounds=1,
    disk_names=LIGHT,
    disk_rounds=1,
    memories=(512, 1769),
    memory_names=LIGHT,
    memory_rounds=1,
    memory_events=8,
    warm_names=WARM,
    threads=(1,),
    lengths=(16, 64, 128),
    warm_rounds=5,
    batch_threads=(2,),
    batches=(64,),
    batch_rounds=1,
    requests=(10, 100),
    request_names=[OURS],
    cache_requests=30,
)


def say(text: str) -> None:
    """A line of progress, on standard error."""
    print(f"bench: {text}", file=sys.stderr, flush=True)
