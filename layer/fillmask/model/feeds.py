"""Queries to the arrays that the graph takes, and large requests to runs of a bounded size.

contract.py describes each input. The arrays are made of plain lists, which is quicker than numpy's
own functions for the few hundred tokens of one run.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from fillmask.model.contract import (
    ATTENTION_MASK,
    COLLECT,
    INPUT_IDS,
    POSITIONS,
    PREDICT,
    QUERY_ROWS,
    SPREAD,
    SUBWORDS,
    TARGETS,
    TOP_K,
    WANTED,
    Query,
)

Feeds = dict[str, npt.NDArray[np.int32 | np.int64]]  # by the name of the graph's input

# Padded tokens of one run. It bounds memory, and larger runs fall out of the CPU's cache.
MAX_RUN_TOKENS: Final = 512

# Positions of one run that go through the head: each becomes a row as long as the vocabulary.
MAX_RUN_MASKS: Final = 64

# A single row per text takes another attention kernel, whose rounding depends on the padding.
LEAST_QUERY_ROWS: Final = 2


def plan_runs(queries: Sequence[Query], most_positions: int) -> list[list[int]]:
    """Indices of the queries, longest first, cut into runs.

    A run has at most MAX_RUN_TOKENS with its padding, and at most `most_positions`; a query that is
    larger than that has a run of its own.
    """
    longest_first = sorted(range(len(queries)), key=lambda index: -len(queries[index].ids))

    runs: list[list[int]] = []
    length = positions = 0  # of the last run: its longest query, and the positions it asks for
    for index in longest_first:
        query = queries[index]
        asked = len(query.positions)

        padded = (len(runs[-1]) + 1) * length if runs else 0
        if not runs or padded > MAX_RUN_TOKENS or positions + asked > most_positions:
            runs.append([])
            length, positions = len(query.ids), 0

        runs[-1].append(index)
        positions += asked
    return runs


def encoder_feeds(batch: Sequence[Query]) -> Feeds:
    """The encoder's inputs for a batch of at least one query."""
    length = max(len(query.ids) for query in batch)
    most_asked = max(LEAST_QUERY_ROWS, *(len(query.positions) for query in batch))

    token_ids: list[int] = []
    positions: list[int] = []
    spread: list[list[int]] = []
    attention_mask: list[list[int]] = []
    collect: list[int] = []
    query_rows: list[list[int]] = []
    wanted: list[int] = []

    for number, query in enumerate(batch):
        first, size, asked = len(token_ids), len(query.ids), len(query.positions)
        padding, unasked = length - size, most_asked - asked

        token_ids += query.ids
        positions += range(size)

        # Padding may repeat any row, because the mask hides it from attention.
        spread.append([*range(first, first + size), *[first] * padding])
        attention_mask.append([1] * size + [0] * padding)
        collect += range(number * length, number * length + size)

        query_rows.append([first + position for position in query.positions] + [first] * unasked)
        wanted += range(number * most_asked, number * most_asked + asked)

    return {
        INPUT_IDS: np.array(token_ids, dtype=np.int64),
        POSITIONS: np.array(positions, dtype=np.int64),
        SPREAD: np.array(spread, dtype=np.int64),
        ATTENTION_MASK: np.array(attention_mask, dtype=np.int32),
        COLLECT: np.array(collect, dtype=np.int64),
        QUERY_ROWS: np.array(query_rows, dtype=np.int64),
        WANTED: np.array(wanted, dtype=np.int64),
    }


def head_feeds(
    positions: int,
    *,
    subwords: bool,
    k: int,
    targets: Sequence[int] | npt.NDArray[np.int64],
) -> Feeds:
    """The head's inputs when the first `positions` of those wanted go through it.

    An odd number is made even with one more row, the last one again: the decoder rounds an odd last
    row differently. So the outputs may have one row more than `positions`.
    """
    even = positions + positions % 2
    return {
        PREDICT: np.minimum(np.arange(even), positions - 1),
        SUBWORDS: np.array(int(subwords)),
        TOP_K: np.array([k]),
        TARGETS: np.asarray(targets, dtype=np.int64),
    }
