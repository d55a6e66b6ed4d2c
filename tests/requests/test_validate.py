"""The validator: each keyword, the fields it names, and that it repeats no value."""

from typing import Any

import pytest

from fillmask import limits
from fillmask.errors import InvalidRequest, TooLarge
from fillmask.requests import schema
from fillmask.requests.schema import Schema
from fillmask.requests.validate import validate

MASKED = {"text": "好[MASK]"}
SENTENCE = {"source_sentence": "好", "sentences": ["很好"]}


def errors(value: object, rules: Schema = schema.FILL_MASK) -> dict[str, str]:
    """The reason of each field that is refused."""
    with pytest.raises(InvalidRequest) as refusal:
        validate(value, rules)

    found: list[dict[str, str]] = refusal.value.extra["errors"]
    return {row["field"]: row["reason"] for row in found}


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "好", []])
def test_a_request_is_an_object(value: object) -> None:
    assert errors(value) == {"": "must be an object"}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"text": 1}, {"text": "must be a string"}),
        ({"text": None}, {"text": "must be a string"}),
        ({"texts": "好[MASK]"}, {"texts": "must be a list"}),
        ({"texts": []}, {"texts": "must have at least 1 item"}),
        (
            {"texts": ["好", 1, None]},
            {"texts[1]": "must be a string"} | {"texts[2]": "must be a string"},
        ),
        ({"text": "\ud800"}, {"text": "has half of a surrogate pair at character 0"}),
        (MASKED | {"top_k": 0}, {"top_k": "must be from 1 to 100"}),
        (MASKED | {"top_k": 101}, {"top_k": "must be from 1 to 100"}),
        (MASKED | {"top_k": True}, {"top_k": "must be an integer"}),
        (MASKED | {"top_k": 5.0}, {"top_k": "must be an integer"}),
        (MASKED | {"top_k": float("inf")}, {"top_k": "must be an integer"}),
        (MASKED | {"mode": "both"}, {"mode": "must be one of independent, joint"}),
        (MASKED | {"lowercase": 0}, {"lowercase": "must be true or false"}),
        (MASKED | {"targets": ["好"] * 101}, {"targets": "must have at most 100 items"}),
        ({}, {"": "must have exactly one of text and texts"}),
        (MASKED | {"texts": ["好"]}, {"": "must have exactly one of text and texts"}),
    ],
)
def test_each_keyword_has_a_reason(fields: dict[str, Any], reason: dict[str, str]) -> None:
    assert errors(fields) == reason


def test_all_errors_are_told_and_the_first_is_in_the_sentence() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        validate({"texts": [1], "top_k": 0}, schema.FILL_MASK)

    assert refusal.value.detail == (
        "The request has 2 errors; the first: texts[0] must be a string."
    )
    assert len(refusal.value.extra["errors"]) == 2


def test_unknown_fields_are_counted_and_never_repeated() -> None:
    (reason,) = errors(MASKED | {"secret": 1, "private": 2}).values()

    assert reason.startswith("has 2 unknown fields; known are text, texts, top_k")
    assert "secret" not in reason


@pytest.mark.parametrize("fields", [{"texts": ["好[MASK]"] * 65}, {"texts": [1] * 65}])
def test_a_list_over_a_limit_is_too_large_whatever_it_holds(fields: dict[str, Any]) -> None:
    with pytest.raises(TooLarge) as refusal:
        validate(fields, schema.FILL_MASK)

    assert refusal.value.extra == {"limit": "texts", "maximum": limits.MAX_TEXTS, "size": 65}


def test_several_types_are_named_together_and_the_one_that_fits_is_checked() -> None:
    assert errors({"input": 1}, schema.EMBED) == {"input": "must be a string or a list"}
    assert errors({"input": ["好", 1]}, schema.EMBED) == {"input[1]": "must be a string"}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, {"inputs": "is required"}),
        (
            {"inputs": {}},
            {"inputs.source_sentence": "is required", "inputs.sentences": "is required"},
        ),
        ({"inputs": SENTENCE | {"sentences": [1]}}, {"inputs.sentences[0]": "must be a string"}),
    ],
)
def test_fields_within_fields_are_named_by_their_path(
    fields: dict[str, Any], reason: dict[str, str]
) -> None:
    assert errors(fields, schema.HF_SIMILARITY) == reason


def test_a_constant_and_a_null_are_checked() -> None:
    wanted = {"inputs": "好", "normalize": True, "prompt_name": None}
    assert validate(wanted, schema.HF_FEATURES) == {"inputs": "好", "normalize": True}

    refused = wanted | {"normalize": False, "prompt_name": "query"}
    assert errors(refused, schema.HF_FEATURES) == {
        "normalize": "must be true",
        "prompt_name": "must be null",
    }


def test_defaults_are_filled_in_and_give_way() -> None:
    filled = validate(MASKED, schema.FILL_MASK)
    assert filled == MASKED | {"top_k": 5, "mode": "independent", "include_subwords": False}

    assert validate(MASKED | {"top_k": 7}, schema.FILL_MASK)["top_k"] == 7


def test_fields_beyond_the_schema_pass_where_it_is_open() -> None:
    wanted = {"inputs": SENTENCE, "later": [1]}
    assert validate(wanted, schema.HF_SIMILARITY) == wanted
