"""Typed requests: defaults, the names of fields in errors, and the bounds on characters."""

from typing import Any

import pytest

from fillmask import limits
from fillmask.errors import InvalidRequest, TooLarge
from fillmask.requests.native import EmbedRequest, FillMaskRequest, Options, SimilarityRequest

LONG = "我" * (limits.MAX_CHARACTERS + 1)


@pytest.mark.parametrize("lowercase", [True, False])
def test_defaults_of_a_fill_mask_request(lowercase: bool) -> None:
    request = FillMaskRequest.read({"text": "好[MASK]"}, lowercase)

    assert request.texts == ["好[MASK]"]
    assert request.options == Options(
        top_k=5, targets=(), mode="independent", lowercase=lowercase, include_subwords=False
    )


def test_what_a_fill_mask_request_says_wins() -> None:
    options = {
        "top_k": 3,
        "targets": ["很", "很"],
        "mode": "joint",
        "lowercase": False,
        "include_subwords": True,
    }
    request = FillMaskRequest.read({"texts": ["[MASK]", "好[MASK]"]} | options, lowercase=True)

    assert request.texts == ["[MASK]", "好[MASK]"]
    assert request.options == Options(3, ("很", "很"), "joint", False, True)


def test_an_embed_request_of_one_text_and_of_several() -> None:
    one = EmbedRequest.read({"input": "好"}, most_dimensions=256)
    assert one == EmbedRequest(["好"], ["input"], dimensions=256, base64=False)

    several = EmbedRequest.read(
        {"input": ["好", "很好"], "dimensions": 8, "encoding_format": "base64"}, most_dimensions=256
    )
    assert several == EmbedRequest(
        ["好", "很好"], ["input[0]", "input[1]"], dimensions=8, base64=True
    )


def test_more_dimensions_than_the_model_has_are_refused() -> None:
    assert EmbedRequest.read({"input": "好", "dimensions": 256}, 256).dimensions == 256

    with pytest.raises(InvalidRequest, match="at most 256") as refusal:
        EmbedRequest.read({"input": "好", "dimensions": 257}, 256)
    assert refusal.value.extra["errors"][0]["field"] == "dimensions"


def test_a_similarity_request_names_rows_and_columns() -> None:
    alone = SimilarityRequest.read({"texts": ["好"]})
    assert alone == SimilarityRequest(["好"], [])
    assert alone.names == ["texts[0]"]

    both = SimilarityRequest.read({"texts": ["好"], "against": ["很好", "不好"]})
    assert both.names == ["texts[0]", "against[0]", "against[1]"]


@pytest.mark.parametrize(
    ("read", "fields", "name"),
    [
        (lambda value: FillMaskRequest.read(value, True), {"text": LONG}, "text"),
        (lambda value: FillMaskRequest.read(value, True), {"texts": ["好", LONG]}, "texts[1]"),
        (lambda value: EmbedRequest.read(value, 256), {"input": LONG}, "input"),
        (lambda value: EmbedRequest.read(value, 256), {"input": ["好", LONG]}, "input[1]"),
        (SimilarityRequest.read, {"texts": ["好"], "against": ["好", LONG]}, "against[1]"),
    ],
)
def test_a_text_that_is_too_long_is_named(read: Any, fields: dict[str, Any], name: str) -> None:
    with pytest.raises(TooLarge) as refusal:
        read(fields)

    assert refusal.value.extra == {
        "limit": "characters",
        "maximum": limits.MAX_CHARACTERS,
        "size": len(LONG),
        "field": name,
    }


def test_a_target_that_is_too_long_is_named() -> None:
    with pytest.raises(TooLarge) as refusal:
        FillMaskRequest.read({"text": "[MASK]", "targets": ["好", "好" * 101]}, True)

    assert refusal.value.extra == {
        "limit": "target_characters",
        "maximum": limits.MAX_TARGET_CHARACTERS,
        "size": 101,
        "field": "targets[1]",
    }


def test_all_texts_together_are_bounded_too() -> None:
    texts = ["我" * limits.MAX_CHARACTERS] * 20
    assert len(SimilarityRequest.read({"texts": texts}).texts) == 20

    with pytest.raises(TooLarge, match="total_characters"):
        SimilarityRequest.read({"texts": texts, "against": ["我"]})
