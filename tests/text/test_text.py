"""A text comes back as it was sent, for any Unicode: offsets, sequences, what was not seen."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer

from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.service import Service
from support.paths import MODEL
from support.sequences import MASK, check


def fill(service: Service, text: str, **options: Any) -> dict[str, Any]:
    """The result for one text, after checking what must hold for every text."""
    result: dict[str, Any] = service.answer("fill-mask", {"text": text, **options})["results"][0]
    check(result, text)
    return result


def unknown(result: dict[str, Any]) -> list[tuple[str, str]]:
    return [(stretch["text"], stretch["reason"]) for stretch in result["unknown"]]


hard = st.sampled_from(
    [
        "\0",
        "\x01",
        "\x1c",
        "\x7f",
        "\x85",
        "\u00ad",
        "\u0301",
        "\u200b",
        "\u200d",
        "\u200e",
        "\u202e",
        "\u2028",
        "\u2029",
        "\u3000",
        "\ue000",
        "\ufe0f",
        "\ufeff",
        "\ufffd",
        "\U000f0000",
        "\U0001f468",
        "\U0001f600",
        "𫠠",
        "𰻞",
        "𠮷",
        "é",
        "İ",
        "ß",
        "ﬁ",
        "Ａ",
        "１",
        "한",
        "\u1100",
        "ก็",
        "\t",
        "\n",
        "\r",
        " ",
        "[",
        "]",
        "[CLS]",
        "[SEP]",
        "[PAD]",
        "[UNK]",
        "[mask]",
        "##",
        "a" * 101,
        "中",
        "。",
        "iPhone",
        MASK,
        MASK,
    ]
)
texts = (
    st.lists(st.one_of(hard, st.text(max_size=5)), max_size=12)
    .map("".join)
    .map(lambda text: text.encode("utf-8", "ignore").decode())
    .map(lambda text: text if MASK in text else text + MASK)
)


@settings(max_examples=2000, deadline=None, derandomize=True, database=None)
@given(text=texts, lowercase=st.booleans())
def test_any_text_comes_back_as_it_was_sent(service: Service, text: str, lowercase: bool) -> None:
    fill(service, text, top_k=2, lowercase=lowercase)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(batch=st.lists(texts, min_size=2, max_size=6))
def test_any_batch_of_texts_is_answered_as_each_alone(service: Service, batch: list[str]) -> None:
    results = service.answer("fill-mask", {"texts": batch, "top_k": 2})["results"]
    assert results == [fill(service, text, top_k=2) for text in batch]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("中\ue000[MASK]\u200b国", [("\ue000", "dropped"), ("\u200b", "dropped")]),
        ("\ufeff中[MASK]", [("\ufeff", "dropped")]),
        ("中\0[MASK]", [("\0", "dropped")]),
        ("中\u00ad\ufffd[MASK]\u202e", [("\u00ad\ufffd", "dropped"), ("\u202e", "dropped")]),
        ("a𫠠b[MASK]", [("𫠠", "unknown")]),
        ("𰻞𰻞面[MASK]", [("𰻞𰻞", "unknown")]),
        ("😀😀😀[MASK]好", [("😀😀😀", "unknown")]),
        ("👨\u200d👩[MASK]", [("👨", "unknown"), ("\u200d", "dropped"), ("👩", "unknown")]),
        ("中 国\t的\u3000人\n们[MASK]\u2028。", []),
        ("cafe\u0301[MASK]", [("\u0301", "dropped")]),
        ("café[MASK]", []),
        ("Ａ１２３[MASK]", [("Ａ１２３", "unknown")]),
        ("a" * 101 + "[MASK]", [("a" * 101, "unknown")]),
        ("ab\u200bcd[MASK]", [("\u200b", "dropped")]),
    ],
)
def test_what_the_model_could_not_see(
    service: Service, text: str, expected: list[tuple[str, str]]
) -> None:
    assert unknown(fill(service, text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "今天[MASK]~好",
        "“[MASK]”",
        "a[MASK]b",
        "[[MASK]]",
        "[MASK]\n[MASK]",
        "#[MASK]#",
        "１０[MASK]年",
        "202[MASK]年",
        "[MASK]",
        "[MASK][MASK][MASK]",
        "[MA[MASK]SK]",
        "ABC公司[MASK]",
        "[CLS][MASK][SEP][PAD]",
    ],
)
def test_masks_are_found_wherever_they_stand(service: Service, text: str) -> None:
    fill(service, text)


def test_control_tokens_that_are_typed_are_text(codec: TextCodec, service: Service) -> None:
    encoded = codec.encode("[CLS][SEP][PAD][UNK]", lowercase=True)
    assert not set(service.manifest.special) & set(encoded.ids)
    assert codec.encode("[cls]", lowercase=True).ids == codec.encode("[CLS]", lowercase=True).ids
    assert fill(service, "[CLS][MASK][SEP]")["tokens"] > 5


def test_capitals_are_folded_for_the_model_alone(codec: TextCodec, service: Service) -> None:
    folded, kept = (codec.encode("我用iPhone", lowercase=lowercase) for lowercase in (True, False))
    assert folded.ids == codec.encode("我用iphone", lowercase=True).ids
    assert [stretch.reason for stretch in kept.unknown] == ["unknown"]
    assert fill(service, "我用iPhone[MASK]照片")["unknown"] == []
    assert unknown(fill(service, "我用iPhone[MASK]照片", lowercase=False)) == [
        ("iPhone", "unknown")
    ]
    assert (
        "iPhone" in fill(service, "我用iPhone[MASK]照片")["masks"][0]["candidates"][0]["sequence"]
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("今天<mask>好", "<mask>"),
        ("中［MASK］国", "full-width"),
        ("中【MASK】国", "Chinese brackets"),
        ("[mask]", "capitals"),
        ("今天___好", "___"),
        ("今天（ ）好", "empty brackets"),
        ("[MASK", "missing"),
        ("{{MASK}}", "MASK"),
        ("今□好", "□"),
    ],
)
def test_near_masks_are_named(codec: TextCodec, text: str, kind: str) -> None:
    hint = codec.near_mask(text)
    assert hint is not None
    assert kind in hint


@pytest.mark.parametrize("text", ["今天天气很好", "", "   ", "a_b", "mask", "（好）"])
def test_no_hint_where_nothing_looks_like_a_mask(codec: TextCodec, text: str) -> None:
    assert codec.near_mask(text) is None


@pytest.mark.parametrize("strip_accents", [True, False])
def test_accents_are_treated_alike_whether_capitals_are_folded_or_kept(
    engine: OnnxEngine, strip_accents: bool
) -> None:
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokenizer.normalizer = BertNormalizer(lowercase=True, strip_accents=strip_accents)
    codec = TextCodec(tokenizer, engine.manifest)

    plain = codec.encode("cafe", lowercase=True).ids
    for lowercase in (True, False):
        assert (codec.encode("café", lowercase).ids == plain) == strip_accents
