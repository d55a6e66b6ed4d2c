"""Texts longer than the model: windows around the masks, with offsets into the whole text."""

import pytest

from fillmask.operations.service import Service
from support.sequences import check


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("我" * 600 + "[MASK]", 600 - 253, 606),
        ("[MASK]" + "我" * 600, 0, 6 + 253),
        ("我" * 300 + "[MASK]" + "我" * 300, 300 - 127, 306 + 126),
    ],
)
def test_a_long_text_is_answered_from_around_the_mask(
    service: Service, text: str, start: int, end: int
) -> None:
    result = service.answer("fill-mask", {"text": text, "top_k": 3})["results"][0]
    check(result, text)
    assert result["window"] == {"start": start, "end": end}
    alone = service.answer("fill-mask", {"text": text[start:end], "top_k": 3})["results"][0]
    assert alone["window"] is None
    assert [row["score"] for row in alone["masks"][0]["candidates"]] == [
        row["score"] for row in result["masks"][0]["candidates"]
    ]


@pytest.mark.parametrize("tokens", [253, 254, 255])
def test_at_the_limit_of_the_model(service: Service, tokens: int) -> None:
    result = service.answer("fill-mask", {"text": "我" * (tokens - 1) + "[MASK]"})["results"][0]
    assert (result["window"] is None) == (tokens <= 254)
    assert result["tokens"] == tokens + 2


def test_masks_far_apart_get_windows_of_their_own(service: Service) -> None:
    text = "春天[MASK]了。" + "我" * 500 + "。他很[MASK]，也很[MASK]。"
    result = service.answer("fill-mask", {"text": text})["results"][0]
    check(result, text)
    first, second, third = (mask["window"] for mask in result["masks"])
    assert first != second == third
    assert result["window"] == {"start": first["start"], "end": second["end"]}
    joint = service.answer("fill-mask", {"text": text, "mode": "joint"})["results"][0]
    check(joint, text)
    assert len(joint["fillings"]) == 5


def test_windows_begin_and_end_with_sentences(service: Service) -> None:
    sentence = "这是一个很长的句子，用来填满窗口。"
    text = sentence * 30 + "今天[MASK]很好。" + sentence * 30
    window = service.answer("fill-mask", {"text": text})["results"][0]["window"]
    assert text[window["start"] - 1] == "。"
    assert text[window["end"] - 1] == "。"
