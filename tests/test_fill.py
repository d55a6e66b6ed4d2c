"""Masks, candidates, targets and joint fillings, each against an oracle that shares no code with them."""

import itertools
import time
from collections.abc import Sequence
from math import exp
from pathlib import Path
from typing import Any

import pytest

import checkpoints
from builder import build, hub
from fillmask import limits, manifest
from fillmask.cache import MemoryCache
from fillmask.engine import Query
from fillmask.errors import FillMaskError, InvalidRequest, NoMask, TooLarge
from fillmask.onnx_engine import OnnxEngine
from fillmask.service import Service
from fillmask.text import TextCodec
from test_text import check

WORDS = list("天气心情很好我们")


class Small:
    """A random model of nine words, small enough to try every filling."""

    def __init__(self, folder: Path) -> None:
        tokens = [*checkpoints.SPECIAL, *WORDS, "##好"]
        source = checkpoints.write(folder / "source", hidden=32, layers=2, heads=2, ffn=64, positions=32, tokens=tokens)
        build.build(hub.find(str(source)), folder / "model", force=True)
        self.engine = OnnxEngine.load(folder / "model", manifest.read(folder / "model"), threads=1)
        self.codec = TextCodec.load(folder / "model", self.engine.manifest)
        self.service = Service(self.engine, self.codec, MemoryCache(0, 1))

    def log_probability(self, ids: Sequence[int], position: int, token: int) -> float:
        """log P(token at position | ids), straight from the engine."""
        special = self.engine.manifest.special
        query = Query([special["start"], *ids, special["end"]], [position + 1])
        return self.engine.predict([query], 1, True, [token])[0][0].targets[0]

    def chain(self, ids: Sequence[int], positions: Sequence[int], tokens: Sequence[int]) -> float:
        """The probability of filling the positions with these tokens, left to right."""
        filled, total = list(ids), 0.0
        for position, token in zip(positions, tokens, strict=True):
            total += self.log_probability(filled, position, token)
            filled[position] = token
        return exp(total)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return Small(tmp_path_factory.mktemp("small"))


@pytest.mark.parametrize("text", ["今天[MASK][MASK]很好", "[MASK]天[MASK]好[MASK]"])
def test_joint_fillings_equal_brute_force(small: Small, text: str) -> None:
    encoded = small.codec.encode(text, lowercase=True)
    words = [small.codec.encode(word, lowercase=True).ids[0] for word in WORDS]
    every = sorted(((small.chain(encoded.ids, encoded.masks, tokens), tokens)
                    for tokens in itertools.product(words, repeat=len(encoded.masks))), reverse=True)
    result = small.service.answer("fill-mask", {"text": text, "mode": "joint", "top_k": 50})["results"][0]
    check(result, text)
    assert len(result["fillings"]) == min(50, len(every))
    for filling, (score, tokens) in zip(result["fillings"], every, strict=False):
        assert filling["score"] == pytest.approx(score, rel=1e-5)
        assert filling["tokens"] == [small.codec.token(token) for token in tokens]


def test_joint_with_targets_fills_with_those_alone(small: Small) -> None:
    result = small.service.answer("fill-mask", {
        "text": "[MASK][MASK]很好", "mode": "joint", "targets": ["天", "气"], "top_k": 10})["results"][0]
    assert {token for filling in result["fillings"] for token in filling["tokens"]} == {"天", "气"}
    assert len(result["fillings"]) == 4


def test_targets_of_several_pieces_equal_brute_force(small: Small) -> None:
    text, targets = "我[MASK]很好[MASK]", ["天", "天气", "心情好", "气天", "情"]
    result = small.service.answer("fill-mask", {"text": text, "targets": targets})["results"][0]
    check(result, text)
    encoded = small.codec.encode(text, lowercase=True)
    for mask, at in zip(result["masks"], encoded.masks, strict=True):
        for target, candidate in zip(targets, mask["candidates"], strict=True):
            pieces = small.codec.encode(target, lowercase=True).ids
            slot = [small.engine.manifest.special["mask"]] * len(pieces)
            ids = [*encoded.ids[:at], *slot, *encoded.ids[at + 1:]]
            expected = small.chain(ids, range(at, at + len(pieces)), pieces)
            assert candidate["score"] == pytest.approx(expected, rel=1e-5)
            assert candidate["in_vocabulary"] == (len(pieces) == 1)
            assert candidate["pieces"] == list(target)


def test_every_target_has_its_own_status(service: Service) -> None:
    targets = ["苹果", "苹", "𠮷", "Apple", "", " ", "[MASK]", "##a", "国", "国", "中", "天" * 13]
    result = service.answer("fill-mask", {"text": "我爱吃[MASK]。", "targets": targets})["results"][0]
    check(result, "我爱吃[MASK]。")
    rows = result["masks"][0]["candidates"]
    assert [row["token"] for row in rows] == targets
    assert [row["reason"] for row in rows] == [
        None, None, "unknown", None, "empty", "empty", "mask", None, None, None, None, "too_long"]
    assert [row["score"] is None for row in rows] == [row["reason"] is not None for row in rows]
    assert rows[0]["score"] != rows[1]["score"]
    assert rows[0]["pieces"] == ["苹", "果"]
    assert rows[0]["id"] is None
    assert rows[8] == rows[9] != rows[10]


@pytest.mark.parametrize("top_k", [None, 1, 2, 10])
def test_targets_are_all_answered_whatever_top_k(service: Service, top_k: int | None) -> None:
    request = {"text": "北京是[MASK]国的首都。", "targets": ["中", "美", "英"]} | ({"top_k": top_k} if top_k else {})
    rows = service.answer("fill-mask", request)["results"][0]["masks"][0]["candidates"]
    assert [row["token"] for row in rows] == ["中", "美", "英"]
    free = service.answer("fill-mask", {"text": "北京是[MASK]国的首都。", "top_k": 100})["results"][0]
    scores = {row["token"]: row["score"] for row in free["masks"][0]["candidates"]}
    assert rows[0]["score"] == scores["中"]


def test_shape_is_the_same_for_one_and_two_masks(service: Service) -> None:
    one, two = (service.answer("fill-mask", {"text": text})["results"][0]
                for text in ("今天是[MASK]天", "今天是[MASK][MASK]天"))
    assert one.keys() == two.keys()
    assert [mask.keys() for mask in two["masks"]] == [one["masks"][0].keys()] * 2
    assert two["masks"][0]["candidates"][0]["sequence"].count("[MASK]") == 1
    assert one["fillings"] is None


def test_subwords_are_hidden_unless_asked_for(service: Service) -> None:
    hidden, asked = (service.answer("fill-mask", {"text": "apple[MASK]", "top_k": 100, "include_subwords": flag})
                     for flag in (False, True))
    tokens = [[row["token"] for row in answer["results"][0]["masks"][0]["candidates"]] for answer in (hidden, asked)]
    assert not any(token.startswith("##") and len(token) > 2 for token in tokens[0])
    assert any(token.startswith("##") for token in tokens[1])
    check(asked["results"][0], "apple[MASK]")


@pytest.mark.parametrize(("text", "start", "end"), [
    ("我" * 600 + "[MASK]", 600 - 253, 606),
    ("[MASK]" + "我" * 600, 0, 6 + 253),
    ("我" * 300 + "[MASK]" + "我" * 300, 300 - 127, 306 + 126),
])
def test_a_long_text_is_answered_from_around_the_mask(service: Service, text: str, start: int, end: int) -> None:
    result = service.answer("fill-mask", {"text": text, "top_k": 3})["results"][0]
    check(result, text)
    assert result["window"] == {"start": start, "end": end}
    alone = service.answer("fill-mask", {"text": text[start:end], "top_k": 3})["results"][0]
    assert alone["window"] is None
    assert [row["score"] for row in alone["masks"][0]["candidates"]] == [
        row["score"] for row in result["masks"][0]["candidates"]]


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


@pytest.mark.parametrize("text", ["今天天气很好", "今天<mask>好", "中［MASK］国", "中【MASK】国", "[mask]", "", "   "])
def test_a_text_without_a_mask_is_refused(service: Service, text: str) -> None:
    with pytest.raises(NoMask) as refusal:
        service.answer("fill-mask", {"texts": ["好[MASK]", text]})
    assert refusal.value.extra["index"] == 1
    assert (refusal.value.extra["hint"] is None) == ("mask" not in text.lower())


@pytest.mark.parametrize(("request_", "limit"), [
    ({"text": "我" * 9_995 + "[MASK]"}, "characters"),
    ({"texts": ["我" * 9_000 + "[MASK]"] * 23}, "total_characters"),
    ({"text": "[MASK]" * 65}, "masks"),
    ({"texts": [f"{number}" + "[MASK]" * 64 for number in range(9)], "top_k": 1}, "total_masks"),
    ({"text": "[MASK]" * 13, "mode": "joint"}, "joint_masks"),
    ({"text": "[MASK]" * 12, "mode": "joint", "top_k": 100, "targets": ["天气"] * 100}, "passes"),
    ({"text": "我" * 9_000 + "[MASK]" * 2, "top_k": 100}, "answer_characters"),
    ({"texts": ["[MASK]"] * 65}, "texts"),
])
def test_every_limit_has_a_name_and_a_number(service: Service, request_: dict[str, Any], limit: str) -> None:
    with pytest.raises(TooLarge) as refusal:
        service.answer("fill-mask", request_)
    assert refusal.value.extra["limit"] == limit
    assert refusal.value.extra["maximum"] == limits.TABLE[limit] < refusal.value.extra["size"]
    assert f"{limit} = {limits.TABLE[limit]}" in refusal.value.detail


def test_64_mixed_texts_equal_64_single_ones(service: Service) -> None:
    from builder import verify
    texts = [f"{sentence[:-2]}[MASK]{sentence[-1]}" for sentence in verify.sentences()[100:164]]
    together = service.answer("fill-mask", {"texts": texts})["results"]
    for text, result in zip(texts, together, strict=True):
        assert result == service.answer("fill-mask", {"text": text})["results"][0]


def test_probes_right_in_float32_are_right_in_int8(service: Service) -> None:
    report = service.manifest.content["report"]
    right, kept = set(report["probes"]["float32"]["right"]), set(report["probes"]["int8"]["right"])
    assert len(right) >= 30
    assert len(right & kept) >= 0.9 * len(right)
    assert report["agreement"]["top1_agreement"] >= 0.98
    assert report["agreement"]["mean_kl"] <= 0.0012


def test_equal_texts_are_computed_once(engine: OnnxEngine, codec: TextCodec) -> None:
    class Counting:
        manifest = engine.manifest
        hidden = staticmethod(engine.hidden)
        queries = 0

        def predict(self, queries: Sequence[Query], k: int, subwords: bool, targets: Sequence[int]) -> Any:
            self.queries += len(queries)
            return engine.predict(queries, k, subwords, targets)

    counting, cache = Counting(), MemoryCache(10**6, 60)
    service = Service(counting, codec, cache)
    first = service.answer("fill-mask", {"texts": ["画龙点[MASK]"] * 3})["results"]
    assert counting.queries == 1
    again = service.answer("fill-mask", {"text": "画龙点[MASK]"})["results"][0]
    assert counting.queries == 1
    assert again == first[0] | {"cached": True}
    changes: list[dict[str, Any]] = [
        {"top_k": 4}, {"targets": ["睛"]}, {"lowercase": False}, {"mode": "joint"}, {"include_subwords": True}]
    for change in changes:
        assert not service.answer("fill-mask", {"text": "画龙点[MASK]"} | change)["results"][0]["cached"]


@pytest.mark.parametrize("value", [b"", b"{", b"[]", b"{}", b"\xff", b"null"])
def test_a_broken_cached_value_is_a_miss(engine: OnnxEngine, codec: TextCodec, value: bytes) -> None:
    class Broken(MemoryCache):
        def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
            return dict.fromkeys(keys, value)

    service = Service(engine, codec, Broken(1, 1))
    assert not service.answer("fill-mask", {"text": "好[MASK]"})["results"][0]["cached"]
    assert service.answer("embed", {"input": "好"})["usage"]["windows"] == 1


def test_errors_never_hold_the_text(service: Service) -> None:
    secret = "机密"
    for request in ({"text": secret}, {"text": secret + "\ud800[MASK]"}, {"text": "[MASK]", "mode": secret},
                    {"text": "[MASK]", secret: 1}, {"text": secret + "<mask>"}, {"texts": [secret] * 65}):
        with pytest.raises(FillMaskError) as refusal:
            service.answer("fill-mask", request)
        assert secret not in refusal.value.detail + str(refusal.value.extra)


def test_what_is_too_long_is_named_by_its_field(service: Service) -> None:
    long = "我" * 10_001
    for operation, request, field in (
        ("fill-mask", {"text": "[MASK]", "targets": ["好", long]}, "targets[1]"), ("embed", {"input": long}, "input"),
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


def test_an_answer_too_large_is_refused_before_it_is_computed(codec: TextCodec, engine: OnnxEngine) -> None:
    class Unused:
        manifest = engine.manifest

    service = Service(Unused(), codec, MemoryCache(0, 1))  # type: ignore[arg-type]
    with pytest.raises(TooLarge, match="answer_characters"):
        service.answer("fill-mask", {
            "texts": ["我" * 1_990 + "[MASK]" * 2 + str(number) for number in range(50)], "top_k": 100})


def test_a_megabyte_of_text_is_refused_at_once() -> None:
    from handler import handler
    text = "我" * 349_525 + "[MASK]"
    start = time.process_time()
    answer = handler({"text": text}, None)
    assert time.process_time() - start < 1
    assert (answer["code"], answer["limit"], answer["size"]) == ("too_large", "characters", len(text))
