"""Encoders for embeddings alone: what is read of a sentence-transformers folder, and the vectors that come out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from safetensors.numpy import load_file

from builder.checkpoint import reading as checkpoint
from builder.graph import encoder as graph
from builder.graph import products
from builder.model import verify
from builder.model.build import main
from fillmask.model import manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.embed import Embedder
from support import checkpoints
from support.bert_numpy import hidden_states, unit

SMALL: dict[str, Any] = {
    "hidden": 64,
    "layers": 2,
    "heads": 4,
    "ffn": 96,
    "positions": 48,
    "size": 200,
}
CLS = {
    "word_embedding_dimension": 64,
    "pooling_mode_cls_token": True,
    "pooling_mode_mean_tokens": False,
}
MEAN = {
    "word_embedding_dimension": 64,
    "pooling_mode_mean_tokens": True,
    "pooling_mode_max_tokens": False,
}
SHORT, LONG = (
    "a丁七!",
    "abc丁七不丏丑专!" * 11,
)  # 10 tokens: windows of 22 end with the second sentence


@pytest.fixture(autouse=True)
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is not what most of these tests are about."""
    monkeypatch.setattr(verify, "sentences", lambda: ["七上八下。", "ab丁七不c!"])


def built(source: Path, *options: str) -> Path:
    """The model folder that the builder makes of a checkpoint."""
    out = source.parent / "out"
    assert (
        main([str(source), "--out", str(out), "--task", "embed", "--name", "small", *options]) == 0
    )
    return out


def embedder(model: Path, source: Path | None = None) -> Embedder:
    """On a built model; with its checkpoint, on the float32 graph of that, so that nothing is rounded."""
    described = manifest.read(model)
    engine = OnnxEngine.load(model, described, threads=1)
    if source:
        exact = graph.write(checkpoint.load(source, head=False), products.Float32(), None)
        onnx.helper.set_model_props(exact, {"vocabulary": str(described.vocabulary)})
        session = onnxruntime.InferenceSession(
            exact.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        engine = OnnxEngine(session, described)
    return Embedder(engine, TextCodec.load(model, described))


def windows(model: Path, source: Path, text: str, most: int) -> list[npt.NDArray[np.float64]]:
    """Hidden states by numpy of each window of a text, cut after sentence ends where one is near."""
    described = manifest.read(model)
    ids = TextCodec.load(model, described).encode(text, described.lowercase).ids
    end = TextCodec.load(model, described).encode("!", described.lowercase).ids[0]
    special, tensors, states = described.special, load_file(source / "model.safetensors"), []
    while ids:
        cut = min(most - 2, len(ids))
        near = [at for at in range(max(1, cut - (most - 2) // 8), cut + 1) if ids[at - 1] == end]
        cut = near[-1] if near and cut < len(ids) else cut
        inside, ids = special.enclose(ids[:cut]), ids[cut:]
        states.append(hidden_states(tensors, inside, heads=4))
    return states


POOLS: dict[str, Callable[[npt.NDArray[np.float64]], Any]] = {
    "cls": lambda states: states[0],
    "mean": lambda states: states.mean(0),
    "text": lambda states: states[1:-1].mean(0),
}


@pytest.mark.parametrize(
    ("config", "pool"),
    [
        (CLS, "cls"),
        (MEAN, "mean"),
        ({"embedding_dimension": 64}, "mean"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": "mean"}, "mean"),
        (None, "text"),
    ],
)
def test_vectors_are_what_numpy_makes_of_the_hidden_states(
    tmp_path: Path, config: Any, pool: str
) -> None:
    source = checkpoints.sentence_transformer(
        tmp_path / "source", config or {}, limits={"max_seq_length": 24}, **SMALL
    )
    if config is None:
        (source / "modules.json").unlink()
    model = built(source)
    texts = [SHORT, LONG]
    answers, rounded = (
        embedder(model, source).answer(texts, texts),
        embedder(model).answer(texts, texts),
    )
    for text, answer, int8 in zip(texts, answers, rounded, strict=True):
        states = windows(model, source, text, most=24)
        expected = unit(np.sum([POOLS[pool](part) * (len(part) - 2) for part in states], axis=0))
        assert answer.windows == len(states) == (1 if text == SHORT else 6)
        assert answer.tokens == sum(map(len, states))
        assert np.dot(answer.vector, expected) >= 1 - 1e-6
        assert np.dot(int8.vector, expected) >= 0.995
        assert abs(np.linalg.norm(int8.vector) - 1) <= 1e-6


@pytest.mark.parametrize(
    ("limits", "tokenizer", "most"),
    [
        ({"max_seq_length": 24}, {}, 24),
        ({"max_seq_length": 512}, {}, 48),
        ({"max_seq_length": None}, {}, 48),
        (None, {}, 48),
        (None, {"model_max_length": 32}, 32),
        ({"max_seq_length": 40}, {"model_max_length": 32}, 40),
    ],
)
def test_the_longest_text_is_the_checkpoints(
    tmp_path: Path, limits: Any, tokenizer: Any, most: int
) -> None:
    source = checkpoints.sentence_transformer(tmp_path / "source", CLS, limits=limits, **SMALL)
    (source / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    described = manifest.read(built(source))
    assert described.max_tokens == most
    assert described.tasks == ("embed",)


def content(model: Path) -> bytes:
    return b"".join((model / name).read_bytes() for name in manifest.FILES)


def test_every_layout_gives_the_same_model(tmp_path: Path) -> None:
    flat = content(built(checkpoints.sentence_transformer(tmp_path / "flat", MEAN, **SMALL)))
    old = checkpoints.sentence_transformer(tmp_path / "old", MEAN, encoder="0_Transformer", **SMALL)
    assert content(built(old)) == flat
    assert content(built(checkpoints.write(tmp_path / "masked", **SMALL))) == flat
    assert main([str(tmp_path / "masked"), "--out", str(tmp_path / "whole"), "--force"]) == 0
    assert len(content(tmp_path / "whole")) > len(flat) + 64 * 64


def test_the_report_says_where_the_pooling_comes_from_and_how_long_vectors_are(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for steps, says in (
        (("Normalize",), "as the checkpoint does"),
        ((), "which the checkpoint does not do"),
    ):
        source = checkpoints.sentence_transformer(
            tmp_path / f"source{len(steps)}", CLS, steps=steps, **SMALL
        )
        report = manifest.read(built(source)).content["report"]
        assert report["pooling"]["from"] == "modules.json and 1_Pooling/config.json"
        assert says in report["pooling"]["length"]
        assert report["embeddings"]["sentences"] == 2
        assert (
            0.99 <= report["embeddings"]["least_cosine"] <= report["embeddings"]["mean_cosine"] <= 1
        )
    (source / "modules.json").unlink()
    assert (
        "without [CLS] and [SEP]"
        in manifest.read(built(source)).content["report"]["pooling"]["from"]
    )
    assert "pooling: mean, from no modules.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tokenizer", "limits", "shared", "apart"),
    [
        ({"do_lower_case": True}, {}, ["é", "É", "e", "E"], []),
        ({"do_lower_case": True, "strip_accents": False}, {}, ["é", "É"], ["e"]),
        ({"do_lower_case": False}, {}, ["é"], ["É", "e"]),
        ({"do_lower_case": False}, {"do_lower_case": True}, ["é", "É"], ["e"]),
    ],
)
def test_capitals_and_accents_are_read_as_the_checkpoint_does(
    tmp_path: Path,
    tokenizer: Any,
    limits: Any,
    shared: list[str],
    apart: list[str],
) -> None:
    tokens = [*checkpoints.SPECIAL, "A", "B", "E", "É", "a", "e", "é", "丁", "七"]
    source = checkpoints.sentence_transformer(
        tmp_path / "source", CLS, limits=limits, **SMALL | {"tokens": tokens}
    )
    (source / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    answers = dict(
        zip(rows := [*shared, *apart], embedder(built(source)).answer(rows, rows), strict=True)
    )
    for text in rows:
        same = np.array_equal(answers[text].vector, answers[shared[0]].vector)
        assert same is (text in shared)


def test_a_tokenizer_file_alone_says_how_to_normalise(tmp_path: Path) -> None:
    source = checkpoints.sentence_transformer(tmp_path / "source", CLS, **SMALL)
    vocabulary = {token: index for index, token in enumerate([*checkpoints.vocabulary(199), "A"])}
    (source / "tokenizer.json").write_text(
        json.dumps(
            {
                "normalizer": {"type": "BertNormalizer", "lowercase": True, "strip_accents": None},
                "model": {"type": "WordPiece", "vocab": vocabulary},
            }
        )
    )
    for name in ("vocab.txt", "tokenizer_config.json"):
        (source / name).unlink()
    assert manifest.read(built(source)).lowercase is True


def test_a_vocabulary_without_a_mask_will_do(tmp_path: Path) -> None:
    tokens = [token for token in checkpoints.vocabulary(60) if token != "[MASK]"]
    source = checkpoints.sentence_transformer(
        tmp_path / "source", MEAN, **SMALL | {"tokens": tokens}
    )
    model = built(source)
    assert manifest.read(model).content["mask_token"] is None
    vector = embedder(model, source).answer(["[MASK]"], ["text"])[0].vector  # text like any other
    (states,) = windows(model, source, "[MASK]", most=48)
    assert len(states) > 3
    assert np.dot(vector, unit(states.mean(0))) >= 1 - 1e-6


def test_what_decides_a_vector_is_in_the_digest(tmp_path: Path) -> None:
    """Caches are tied to it: the same weights pooled otherwise are another model."""
    source = checkpoints.sentence_transformer(tmp_path / "source", CLS, **SMALL)
    pooled = json.loads((built(source) / "model.json").read_text())
    (source / "modules.json").unlink()
    mean = json.loads((built(source) / "model.json").read_text())
    assert pooled["files"] == mean["files"]
    assert pooled["pooling"] != mean["pooling"]
    assert pooled["digest"] != mean["digest"]
