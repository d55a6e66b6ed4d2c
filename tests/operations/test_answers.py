"""Answers as types: the bytes a cache holds, and the JSON made of them."""

import json
from typing import Any

import numpy as np
import pytest

from fillmask.model.text import Stretch, TextCodec
from fillmask.operations import render
from fillmask.operations.answers import (
    Candidate,
    Extent,
    FilledMask,
    FilledText,
    Filling,
    ScoredTarget,
)
from fillmask.operations.embed import Embedding
from fillmask.requests.native import Options
from support.sequences import check

RANKED = FilledText(
    tokens=14,
    masks=[
        FilledMask(Extent(9, 15), Extent(2, 40), [Candidate(677, 0.25), Candidate(8, 1e-9)], []),
        FilledMask(Extent(15, 21), None, [Candidate(8, 1.0)], []),
    ],
    fillings=[Filling([677, 8], 0.125)],
    unknown=[Stretch(0, 1, "unknown"), Stretch(3, 4, "dropped")],
)
TARGETED = FilledText(
    tokens=4,
    masks=[
        FilledMask(
            Extent(1, 7), None, [], [ScoredTarget([5, 6], 0.5), ScoredTarget([], None, "empty")]
        )
    ],
    fillings=None,
    unknown=[],
)

# Another instance may have left these bytes in a shared table, and they must read back.
PACKED = [
    (
        RANKED,
        b'{"tokens":14,"masks":['
        b'{"window":[2,40],"candidates":[[677,0.25],[8,1e-09]],"start":9,"end":15},'
        b'{"window":null,"candidates":[[8,1.0]],"start":15,"end":21}],'
        b'"fillings":[[[677,8],0.125]],"unknown":[[0,1,"unknown"],[3,4,"dropped"]]}',
    ),
    (
        TARGETED,
        b'{"tokens":4,"masks":[{"window":null,"candidates":[{"pieces":[5,6],"score":0.5},'
        b'{"pieces":[],"score":null,"reason":"empty"}],"start":1,"end":7}],'
        b'"fillings":null,"unknown":[]}',
    ),
]


@pytest.mark.parametrize(("answer", "packed"), PACKED)
def test_the_packed_bytes_stay_and_read_back(answer: FilledText, packed: bytes) -> None:
    assert answer.pack() == packed
    assert FilledText.unpack(packed) == answer


@pytest.mark.parametrize(
    "change",
    [
        {"masks": None},
        {"masks": [{"start": 9}]},
        {"masks": [{"window": [1], "candidates": [], "start": 0, "end": 6}]},
        {"masks": [{"window": None, "candidates": [[1]], "start": 0, "end": 6}]},
        {"masks": [{"window": None, "candidates": [{"score": 1.0}], "start": 0, "end": 6}]},
        {"fillings": [[1]]},
        {"unknown": [[0, 1]]},
    ],
)
def test_what_is_no_packed_answer_does_not_read_back(change: dict[str, object]) -> None:
    value = json.dumps(json.loads(RANKED.pack()) | change).encode()

    with pytest.raises((ValueError, KeyError, TypeError)):
        FilledText.unpack(value)


def test_a_score_that_is_not_finite_is_never_packed() -> None:
    mask = FilledMask(Extent(0, 6), None, [Candidate(1, float("nan"))], [])

    with pytest.raises(ValueError, match="Out of range"):
        FilledText(3, [mask], None, []).pack()


def test_the_json_of_a_text_with_whole_fillings(codec: TextCodec) -> None:
    first, second = codec.encode("天气", lowercase=True).ids
    text = "𠮷[MASK][MASK]很好"
    answer = FilledText(
        tokens=7,
        masks=[
            FilledMask(Extent(1, 7), Extent(0, 15), [Candidate(first, 0.5)], []),
            FilledMask(Extent(7, 13), Extent(1, 15), [Candidate(second, 0.25)], []),
        ],
        fillings=[Filling([first, second], 0.125)],
        unknown=[Stretch(0, 1, "unknown")],
    )

    result: dict[str, Any] = render.filled_text(
        answer, text, Options(1, (), "joint", True, False), codec, cached=True
    )

    check(result, text)
    assert result["fillings"] == [
        {"tokens": ["天", "气"], "score": 0.125, "sequence": "𠮷天气很好"}
    ]
    assert result["unknown"] == [{"start": 0, "end": 1, "text": "𠮷", "reason": "unknown"}]
    assert result["window"] == {"start": 0, "end": 15}
    assert result["cached"] is True
    assert result["masks"][1] == {
        "start": 7,
        "end": 13,
        "window": {"start": 1, "end": 15},
        "candidates": [{"token": "气", "id": second, "score": 0.25, "sequence": "𠮷[MASK]气很好"}],
    }


def test_the_json_of_targets_keeps_the_callers_own_words(codec: TextCodec) -> None:
    pieces = codec.encode("天气", lowercase=True).ids
    mask = FilledMask(
        Extent(0, 6), None, [], [ScoredTarget(pieces, 0.5), ScoredTarget([], None, "empty")]
    )
    options = Options(5, ("天气", ""), "independent", True, False)

    result: dict[str, Any] = render.filled_text(
        FilledText(4, [mask], None, []), "[MASK]好", options, codec, cached=False
    )

    assert result["fillings"] is None
    assert result["window"] is None
    assert result["masks"][0]["candidates"] == [
        {
            "token": "天气",
            "id": None,
            "score": 0.5,
            "sequence": "天气好",
            "in_vocabulary": False,
            "pieces": ["天", "气"],
            "reason": None,
        },
        {
            "token": "",
            "id": None,
            "score": None,
            "sequence": "好",
            "in_vocabulary": False,
            "pieces": [],
            "reason": "empty",
        },
    ]


def test_the_size_of_an_answer_is_that_of_its_sequences(codec: TextCodec) -> None:
    options = Options(2, (), "joint", True, False)
    answer = RANKED._replace(fillings=[Filling([1, 2], 0.5)] * 3)

    assert render.least_size("字" * 10, masks=2, options=options) == 10 * (2 * 2 + 1)
    assert render.size(answer, "字" * 10, options) == 10 * (2 * 2 + 1) + 10 * 3 + 2
    half_seen = answer._replace(unknown=[Stretch(0, 4, "dropped"), Stretch(5, 6, "unknown")])
    assert render.size(half_seen, "字" * 10, options) == 10 * (2 * 2 + 1) + 10 * 3 + 5

    targeted = options._replace(targets=("天", "气", "好"))
    assert render.least_size("字" * 10, masks=2, options=targeted) == 10 * (2 * 3 + 1) + 2 * 2 * 3


def test_an_embedding_packs_to_its_counts_and_its_floats() -> None:
    vector = np.array([0.6, -0.8], dtype=np.float32)
    packed = Embedding(vector, tokens=5, windows=2, unknown_tokens=1).pack()
    assert packed == bytes.fromhex("05000000 02000000 01000000 9a99193f cdcc4cbf")

    read = Embedding.unpack(packed, dimensions=2)
    assert (read.tokens, read.windows, read.unknown_tokens) == (5, 2, 1)
    assert np.array_equal(read.vector, vector)

    with pytest.raises(ValueError, match="reshape"):
        Embedding.unpack(packed, dimensions=3)
