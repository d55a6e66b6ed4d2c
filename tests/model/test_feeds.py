"""The arrays that the graph takes, and runs of a bounded size."""

import random

import numpy as np
import pytest

from fillmask.model import onnx_engine
from fillmask.model.contract import (
    ATTENTION_MASK,
    COLLECT,
    HEAD_OUTPUTS,
    HIDDEN,
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
from fillmask.model.feeds import (
    MAX_RUN_MASKS,
    MAX_RUN_TOKENS,
    encoder_feeds,
    head_feeds,
    plan_runs,
)
from support.paths import MODEL


def test_feeds_pack_the_tokens_and_mask_the_padding() -> None:
    feeds = encoder_feeds([Query([2, 7, 8, 3], [1, 2]), Query([2, 9, 3], [1])])
    assert {name: array.tolist() for name, array in feeds.items()} == {
        INPUT_IDS: [2, 7, 8, 3, 2, 9, 3],
        POSITIONS: [0, 1, 2, 3, 0, 1, 2],
        SPREAD: [[0, 1, 2, 3], [4, 5, 6, 4]],
        ATTENTION_MASK: [[1, 1, 1, 1], [1, 1, 1, 0]],
        COLLECT: [0, 1, 2, 3, 4, 5, 6],
        QUERY_ROWS: [[1, 2], [5, 4]],
        WANTED: [0, 1, 2],
    }


@pytest.mark.parametrize(
    ("positions", "rows"), [(0, []), (1, [0, 0]), (2, [0, 1]), (3, [0, 1, 2, 2])]
)
def test_the_head_gets_an_even_number_of_rows(positions: int, rows: list[int]) -> None:
    feeds = head_feeds(positions, subwords=True, k=4, targets=[7, 9])
    assert {name: array.tolist() for name, array in feeds.items()} == {
        PREDICT: rows,
        SUBWORDS: 1,
        TOP_K: [4],
        TARGETS: [7, 9],
    }


@pytest.mark.parametrize("graph", ["model.onnx", "cold.onnx"])
def test_the_graph_takes_what_the_feeds_give(graph: str) -> None:
    session = onnx_engine.open_session(MODEL / graph, onnx_engine.session_options(1))
    feeds = encoder_feeds([Query([2, 3], [0])])
    feeds |= head_feeds(1, subwords=False, k=1, targets=[])
    kinds = {np.dtype(np.int32): "tensor(int32)", np.dtype(np.int64): "tensor(int64)"}
    assert {given.name: given.type for given in session.get_inputs()} == {
        name: kinds[array.dtype] for name, array in feeds.items()
    }
    assert {given.name for given in session.get_outputs()} == {HIDDEN, *HEAD_OUTPUTS}


def test_runs_are_bounded_and_cover_every_query_once() -> None:
    chance = random.Random(3)
    many = [
        Query([0] * chance.randint(3, longest), [1] * chance.randint(1, most))
        for longest, most in ((40, 5), (256, 64))
        for _ in range(100)
    ]
    runs = plan_runs(many, MAX_RUN_MASKS)
    assert sorted(index for run in runs for index in run) == list(range(len(many)))
    for run in runs:
        longest = max(len(many[index].ids) for index in run)
        assert longest * len(run) <= MAX_RUN_TOKENS
        assert sum(len(many[index].positions) for index in run) <= MAX_RUN_MASKS
