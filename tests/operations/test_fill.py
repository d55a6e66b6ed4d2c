"""Masks, candidates, targets and joint fillings, each against an oracle of its own code."""

import itertools
from collections.abc import Sequence
from math import exp
from pathlib import Path
from typing import Any

import pytest

from builder.checkpoint import hub
from builder.model import build
from fillmask.cache.memory import MemoryCache
from fillmask.model import manifest
from fillmask.model.contract import Query
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.service import Service
from support import checkpoints
from support.sequences import check

WORDS = list("天气心情很好我们")


class Small:
    """A random model of nine words, small enough to try every filling."""

    def __init__(self, folder: Path) -> None:
        tokens = [*checkpoints.SPECIAL, *WORDS, "##好"]
        source = checkpoints.write(
            folder / "source", hidden=32, layers=2, heads=2, ffn=64, positions=32, tokens=tokens
        )
        build.build(hub.find(str(source)), folder / "model", force=True)
        self.engine = OnnxEngine.load(folder / "model", manifest.read(folder / "model"), threads=1)
        self.codec = TextCodec.load(folder / "model", self.engine.manifest)
        self.service = Service(self.engine, self.codec, MemoryCache(0, 1))

    def log_probability(self, ids: Sequence[int], position: int, token: int) -> float:
        """log P(token at position | ids), straight from the engine."""
        query = Query(self.engine.manifest.special.enclose(ids), [position + 1])
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
    every = sorted(
        (
            (small.chain(encoded.ids, encoded.masks, tokens), tokens)
            for tokens in itertools.product(words, repeat=len(encoded.masks))
        ),
        reverse=True,
    )
    result = small.service.answer("fill-mask", {"text": text, "mode": "joint", "top_k": 50})[
        "results"
    ][0]
    check(result, text)
    assert len(result["fillings"]) == min(50, len(every))
    for filling, (score, tokens) in zip(result["fillings"], every, strict=False):
        assert filling["score"] == pytest.approx(score, rel=1e-5)
        assert filling["tokens"] == [small.codec.token(token) for token in tokens]


def test_joint_with_targets_fills_with_those_alone(small: Small) -> None:
    result = small.service.answer(
        "fill-mask",
        {"text": "[MASK][MASK]很好", "mode": "joint", "targets": ["天", "气"], "top_k": 10},
    )["results"][0]
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
            slot = [small.engine.manifest.special.mask] * len(pieces)
            ids = [*encoded.ids[:at], *slot, *encoded.ids[at + 1 :]]
            expected = small.chain(ids, range(at, at + len(pieces)), pieces)
            assert candidate["score"] == pytest.approx(expected, rel=1e-5)
            assert candidate["in_vocabulary"] == (len(pieces) == 1)
            assert candidate["pieces"] == list(target)


def test_every_target_has_its_own_status(service: Service) -> None:
    targets = ["苹果", "苹", "𠮷", "Apple", "", " ", "[MASK]", "##a", "国", "国", "中", "天" * 13]
    result = service.answer("fill-mask", {"text": "我爱吃[MASK]。", "targets": targets})["results"][
        0
    ]
    check(result, "我爱吃[MASK]。")
    rows = result["masks"][0]["candidates"]
    assert [row["token"] for row in rows] == targets
    assert [row["reason"] for row in rows] == [
        None,
        None,
        "unknown",
        None,
        "empty",
        "empty",
        "mask",
        None,
        None,
        None,
        None,
        "too_long",
    ]
    assert [row["score"] is None for row in rows] == [row["reason"] is not None for row in rows]
    assert rows[0]["score"] != rows[1]["score"]
    assert rows[0]["pieces"] == ["苹", "果"]
    assert rows[0]["id"] is None
    assert rows[8] == rows[9] != rows[10]


@pytest.mark.parametrize("top_k", [None, 1, 2, 10])
def test_targets_are_all_answered_whatever_top_k(service: Service, top_k: int | None) -> None:
    request = {"text": "北京是[MASK]国的首都。", "targets": ["中", "美", "英"]} | (
        {"top_k": top_k} if top_k else {}
    )
    rows = service.answer("fill-mask", request)["results"][0]["masks"][0]["candidates"]
    assert [row["token"] for row in rows] == ["中", "美", "英"]
    free = service.answer("fill-mask", {"text": "北京是[MASK]国的首都。", "top_k": 100})["results"][
        0
    ]
    scores = {row["token"]: row["score"] for row in free["masks"][0]["candidates"]}
    assert rows[0]["score"] == scores["中"]


def test_shape_is_the_same_for_one_and_two_masks(service: Service) -> None:
    one, two = (
        service.answer("fill-mask", {"text": text})["results"][0]
        for text in ("今天是[MASK]天", "今天是[MASK][MASK]天")
    )
    assert one.keys() == two.keys()
    assert [mask.keys() for mask in two["masks"]] == [one["masks"][0].keys()] * 2
    assert two["masks"][0]["candidates"][0]["sequence"].count("[MASK]") == 1
    assert one["fillings"] is None


def test_subwords_are_hidden_unless_asked_for(service: Service) -> None:
    hidden, asked = (
        service.answer("fill-mask", {"text": "apple[MASK]", "top_k": 100, "include_subwords": flag})
        for flag in (False, True)
    )
    tokens = [
        [row["token"] for row in answer["results"][0]["masks"][0]["candidates"]]
        for answer in (hidden, asked)
    ]
    assert not any(token.startswith("##") and len(token) > 2 for token in tokens[0])
    assert any(token.startswith("##") for token in tokens[1])
    check(asked["results"][0], "apple[MASK]")


def test_64_mixed_texts_equal_64_single_ones(service: Service) -> None:
    from builder.model import verify

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

        def predict(
            self, queries: Sequence[Query], k: int, subwords: bool, targets: Sequence[int]
        ) -> Any:
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
        {"top_k": 4},
        {"targets": ["睛"]},
        {"lowercase": False},
        {"mode": "joint"},
        {"include_subwords": True},
    ]
    for change in changes:
        assert not service.answer("fill-mask", {"text": "画龙点[MASK]"} | change)["results"][0][
            "cached"
        ]


@pytest.mark.parametrize("value", [b"", b"{", b"[]", b"{}", b"\xff", b"null"])
def test_a_broken_cached_value_is_a_miss(
    engine: OnnxEngine, codec: TextCodec, value: bytes
) -> None:
    class Broken(MemoryCache):
        def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
            return dict.fromkeys(keys, value)

    service = Service(engine, codec, Broken(1, 1))
    assert not service.answer("fill-mask", {"text": "好[MASK]"})["results"][0]["cached"]
    assert service.answer("embed", {"input": "好"})["usage"]["windows"] == 1
