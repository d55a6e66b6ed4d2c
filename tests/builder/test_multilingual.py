"""Encoders with a Unigram tokenizer: ids, offsets and vectors are those of transformers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builder.checkpoint import unigram
from builder.model.__main__ import main
from fillmask.model import manifest
from fillmask.model.text import TextCodec
from support import multilingual
from support.embed_models import built, embedder, exact_embedder
from support.multilingual import ENCODERS, FOLDER, TEXTS

pytestmark = pytest.mark.usefixtures("few_sentences")

CONTROL_TYPED = "<s>a</s><pad><unk><mask>"


@pytest.fixture(scope="module")
def golden() -> Any:
    """Arrays made by tests/golden/make_unigram.py."""
    with np.load(FOLDER / "vectors.npz") as stored:
        return dict(stored)


def codec(model: Path) -> TextCodec:
    return TextCodec.load(model, manifest.read(model))


@pytest.mark.parametrize("name", ENCODERS)
def test_ids_offsets_and_vectors_equal_transformers(tmp_path: Path, golden: Any, name: str) -> None:
    source = ENCODERS[name](tmp_path / "source")
    model = built(source)
    described = manifest.read(model)
    exact = exact_embedder(model, source).embed(TEXTS, TEXTS)
    rounded = embedder(model).embed(TEXTS, TEXTS)

    for number, text in enumerate(TEXTS):
        encoded = codec(model).encode(text, lowercase=described.lowercase)
        assert described.special.enclose(encoded.ids) == golden[f"ids_{number}"].tolist()
        assert [list(span) for span in encoded.spans] == golden[f"offsets_{number}"].tolist()[1:-1]

        expected = golden[f"{name}_{number}"]
        assert np.abs(exact[number].vector - expected).max() <= 1e-4
        assert np.dot(rounded[number].vector, expected) >= 0.995
        assert np.array_equal(
            embedder(model).embed([text], ["text"])[0].vector, rounded[number].vector
        )


def test_the_model_says_what_it_reads(tmp_path: Path) -> None:
    described = manifest.read(built(multilingual.e5(tmp_path / "source")))
    assert described.special == manifest.Special(1, 3, 0, 2, manifest.NO_TOKEN)
    assert described.content["mask_token"] is None
    assert described.vocabulary == 483 + multilingual.SPARE

    roberta = manifest.read(built(multilingual.xlm_roberta(tmp_path / "xlmr" / "source")))
    assert roberta.max_tokens == 48  # of 50 rows, the first two are never used


def test_a_typed_control_token_is_text(tmp_path: Path) -> None:
    model = built(multilingual.e5(tmp_path / "source"))
    encoded = codec(model).encode(CONTROL_TYPED, lowercase=False)
    assert not {0, 1, 2, 482} & set(encoded.ids)
    assert len(encoded.ids) > 10
    assert codec(model).encode("<unused0> ", lowercase=False).ids[0] < 483


def test_spans_point_at_the_text_that_was_sent(tmp_path: Path) -> None:
    model = built(multilingual.minilm(tmp_path / "source"))
    text = "ＡＢＣ\u3000two  spaces"
    encoded = codec(model).encode(text, lowercase=False)
    pieces = [codec(model).token(token).strip("▁") for token in encoded.ids]
    sent = [text[start:end] for start, end in encoded.spans]

    narrow = str.maketrans("ＡＢＣ", "ABC")
    known = [pair for pair in zip(pieces, sent, strict=True) if not pair[0].startswith("<unk>")]
    assert len(known) > 8
    assert all(piece in ("", own.translate(narrow).strip()) for piece, own in known)


def test_capitals_are_folded_where_the_recipe_says_so(tmp_path: Path) -> None:
    source = multilingual.minilm(tmp_path / "source")
    (source / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    model = built(source)
    assert manifest.read(model).lowercase
    assert codec(model).encode("ABC", True).ids == codec(model).encode("abc", True).ids


def changed(**members: Any) -> Callable[[dict[str, Any]], object]:
    return lambda content: content.update(members)


def adds_a_token(content: dict[str, Any]) -> None:
    content["added_tokens"].append({**content["added_tokens"][0], "id": 483, "content": "[E1]"})


def renames_start(content: dict[str, Any]) -> None:
    content["model"]["vocab"][0][0] = "<S>"
    content["added_tokens"] = []
    content["post_processor"] = None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (changed(normalizer={"type": "StripAccents"}), "has a step StripAccents"),
        (changed(pre_tokenizer={"type": "Whitespace"}), "has a step Whitespace"),
        (changed(normalizer=None), "has no normalizer or no Metaspace"),
        (changed(post_processor=None), "puts [] around a text"),
        (adds_a_token, "adds the token '[E1]'"),
        (renames_start, "has <s> 0 times"),
        (lambda content: content["model"].update(byte_fallback=True), "falls back to bytes"),
        (lambda content: content["model"]["vocab"].append(["x"]), "is not a tokenizer"),
    ],
)
def test_what_cannot_be_followed_is_one_sentence(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[dict[str, Any]], object],
    says: str,
) -> None:
    source = multilingual.minilm(tmp_path / "source")
    path = source / "tokenizer.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")

    assert main([str(source), "--out", str(tmp_path / "out"), "--task", "embed"]) == 1
    assert says in capsys.readouterr().err


def test_masks_are_not_filled_with_unigram(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = multilingual.xlm_roberta(tmp_path / "source")
    assert unigram.found(source)
    assert main([str(source), "--out", str(tmp_path / "out")]) == 1
    assert "Unigram tokenizer, which can be built for embeddings alone" in capsys.readouterr().err
