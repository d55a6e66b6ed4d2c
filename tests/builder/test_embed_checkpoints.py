"""What is read of a sentence-transformers folder, in every layout, and said of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builder.model.__main__ import main
from fillmask.model import manifest
from support import checkpoints
from support.checkpoints import SMALL
from support.embed_models import CLS, MEAN, built, embedder

pytestmark = pytest.mark.usefixtures("few_sentences")


@pytest.mark.parametrize(
    ("limits", "tokenizer", "longest"),
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
    tmp_path: Path, limits: dict[str, Any] | None, tokenizer: dict[str, Any], longest: int
) -> None:
    source = checkpoints.sentence_transformer(tmp_path / "source", CLS, limits=limits, **SMALL)
    (source / "tokenizer_config.json").write_text(json.dumps(tokenizer))

    described = manifest.read(built(source))
    assert described.max_tokens == longest
    assert described.tasks == ("embed",)


def content(model: Path) -> bytes:
    return b"".join((model / name).read_bytes() for name in manifest.FILES)


def test_every_layout_gives_the_same_model(tmp_path: Path) -> None:
    flat = content(built(checkpoints.sentence_transformer(tmp_path / "flat", MEAN, **SMALL)))
    old = checkpoints.sentence_transformer(tmp_path / "old", MEAN, encoder="0_Transformer", **SMALL)
    assert content(built(old)) == flat

    masked = checkpoints.write(tmp_path / "masked", **SMALL)
    assert content(built(masked)) == flat
    assert main([str(masked), "--out", str(tmp_path / "whole"), "--force"]) == 0
    assert len(content(tmp_path / "whole")) > len(flat) + 64 * 64


@pytest.mark.parametrize(
    ("steps", "says"),
    [(("Normalize",), "as the checkpoint does"), ((), "which the checkpoint does not do")],
)
def test_the_report_says_where_the_pooling_comes_from_and_how_long_vectors_are(
    tmp_path: Path, steps: tuple[str, ...], says: str
) -> None:
    source = checkpoints.sentence_transformer(tmp_path / "source", CLS, steps=steps, **SMALL)
    report = manifest.read(built(source)).content["report"]
    assert report["pooling"]["from"] == "modules.json and 1_Pooling/config.json"
    assert says in report["pooling"]["length"]

    cosines = report["embeddings"]
    assert cosines["sentences"] == 2
    assert 0.99 <= cosines["least_cosine"] <= cosines["mean_cosine"] <= 1


def test_the_report_says_that_nothing_names_the_pooling(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = checkpoints.sentence_transformer(tmp_path / "source", CLS, **SMALL)
    (source / "modules.json").unlink()
    report = manifest.read(built(source)).content["report"]
    assert "without [CLS] and [SEP]" in report["pooling"]["from"]
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
    tokenizer: dict[str, bool],
    limits: dict[str, bool],
    shared: list[str],
    apart: list[str],
) -> None:
    tokens = [*checkpoints.SPECIAL, "A", "B", "E", "É", "a", "e", "é", "丁", "七"]
    shape = SMALL | {"tokens": tokens}
    source = checkpoints.sentence_transformer(tmp_path / "source", CLS, limits=limits, **shape)
    (source / "tokenizer_config.json").write_text(json.dumps(tokenizer))

    texts = [*shared, *apart]
    first, *others = embedder(built(source)).embed(texts, texts)
    for text, answer in zip(texts[1:], others, strict=True):
        assert np.array_equal(answer.vector, first.vector) is (text in shared)


def test_a_tokenizer_file_alone_says_how_to_normalise(tmp_path: Path) -> None:
    source = checkpoints.sentence_transformer(tmp_path / "source", CLS, **SMALL)
    for name in ("vocab.txt", "tokenizer_config.json"):
        (source / name).unlink()

    tokens = [*checkpoints.vocabulary(199), "A"]
    described = {
        "normalizer": {"type": "BertNormalizer", "lowercase": True, "strip_accents": None},
        "model": {
            "type": "WordPiece",
            "vocab": {token: index for index, token in enumerate(tokens)},
        },
    }
    (source / "tokenizer.json").write_text(json.dumps(described))
    assert manifest.read(built(source)).lowercase is True


def test_what_decides_a_vector_is_in_the_digest(tmp_path: Path) -> None:
    """Caches are tied to it: the same weights pooled otherwise are another model."""
    source = checkpoints.sentence_transformer(tmp_path / "source", CLS, **SMALL)
    pooled = manifest.read(built(source))
    (source / "modules.json").unlink()
    mean = manifest.read(built(source))

    assert pooled.content["files"] == mean.content["files"]
    assert pooled.pooling != mean.pooling
    assert pooled.digest != mean.digest
