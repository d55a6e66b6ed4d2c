"""What is refused: each limit by name and number, texts without a mask; never a word of a text."""

import time
from typing import Any

import pytest

from fillmask import limits
from fillmask.cache.memory import MemoryCache
from fillmask.errors import FillMaskError, InvalidRequest, NoMask, TooLarge
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.service import Service


@pytest.mark.parametrize(
    "text", ["今天天气很好", "今天<mask>好", "中［MASK］国", "中【MASK】国", "[mask]", "", "   "]
)
def test_a_text_without_a_mask_is_refused(service: Service, text: str) -> None:
    with pytest.raises(NoMask) as refusal:
        service.answer("fill-mask", {"texts": ["好[MASK]", text]})
    assert refusal.value.extra["index"] == 1
    assert (refusal.value.extra["hint"] is None) == ("mask" not in text.lower())


@pytest.mark.parametrize(
    ("request_", "limit"),
    [
        ({"text": "我" * 9_995 + "[MASK]"}, "characters"),
        ({"texts": ["我" * 9_000 + "[MASK]"] * 23}, "total_characters"),
        ({"text": "[MASK]" * 65}, "masks"),
        (
            {"texts": [f"{number}" + "[MASK]" * 64 for number in range(9)], "top_k": 1},
            "total_masks",
        ),
        ({"text": "[MASK]" * 13, "mode": "joint"}, "joint_masks"),
        (
            {"text": "[MASK]" * 12, "mode": "joint", "top_k": 100, "targets": ["天气"] * 100},
            "passes",
        ),
        ({"text": "我" * 9_000 + "[MASK]" * 2, "top_k": 100}, "answer_characters"),
        ({"texts": ["[MASK]"] * 65}, "texts"),
    ],
)
def test_every_limit_has_a_name_and_a_number(
    service: Service, request_: dict[str, Any], limit: str
) -> None:
    with pytest.raises(TooLarge) as refusal:
        service.answer("fill-mask", request_)
    assert refusal.value.extra["limit"] == limit
    assert refusal.value.extra["maximum"] == limits.TABLE[limit] < refusal.value.extra["size"]
    assert f"{limit} = {limits.TABLE[limit]}" in refusal.value.detail


def test_errors_never_hold_the_text(service: Service) -> None:
    secret = "机密"
    for request in (
        {"text": secret},
        {"text": secret + "\ud800[MASK]"},
        {"text": "[MASK]", "mode": secret},
        {"text": "[MASK]", secret: 1},
        {"text": secret + "<mask>"},
        {"texts": [secret] * 65},
    ):
        with pytest.raises(FillMaskError) as refusal:
            service.answer("fill-mask", request)
        assert secret not in refusal.value.detail + str(refusal.value.extra)


def test_what_is_too_long_is_named_by_its_field(service: Service) -> None:
    long = "我" * 10_001
    for operation, request, field in (
        ("fill-mask", {"text": "[MASK]", "targets": ["好", long]}, "targets[1]"),
        ("embed", {"input": long}, "input"),
        ("similarity", {"texts": ["好"], "against": ["好", long]}, "against[1]"),
    ):
        with pytest.raises(TooLarge) as refusal:
            service.answer(operation, request)
        assert refusal.value.extra["field"] == field


def test_similarity_among_themselves_counts_each_text_once(service: Service) -> None:
    texts = [f"{number}" + "我" * 1_999 for number in range(60)]
    assert len(service.answer("similarity", {"texts": [*texts[:2], "好"]})["matrix"]) == 3
    with pytest.raises(TooLarge):
        service.answer("similarity", {"texts": texts, "against": texts})


def test_joint_mode_needs_a_target_of_one_piece(service: Service) -> None:
    with pytest.raises(InvalidRequest, match="joint"):
        service.answer("fill-mask", {"text": "[MASK]", "mode": "joint", "targets": ["苹果", "𠮷"]})


def test_an_answer_too_large_is_refused_before_it_is_computed(
    codec: TextCodec, engine: OnnxEngine
) -> None:
    class Unused:
        manifest = engine.manifest

    service = Service(Unused(), codec, MemoryCache(0, 1))  # type: ignore[arg-type]
    with pytest.raises(TooLarge, match="answer_characters"):
        service.answer(
            "fill-mask",
            {
                "texts": ["我" * 1_990 + "[MASK]" * 2 + str(number) for number in range(50)],
                "top_k": 100,
            },
        )


def test_a_megabyte_of_text_is_refused_at_once() -> None:
    from handler import handler

    text = "我" * 349_525 + "[MASK]"
    start = time.process_time()
    answer = handler({"text": text}, None)
    assert time.process_time() - start < 1
    assert (answer["code"], answer["limit"], answer["size"]) == (
        "too_large",
        "characters",
        len(text),
    )
