"""Tokens that a fine-tune added: one tokenizer from every form they are saved in."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from builder.checkpoint import wordpiece
from builder.checkpoint.errors import CheckpointError
from fillmask.model.manifest import Manifest, Pooling
from fillmask.model.text import TextCodec
from fillmask.operations import pieces
from support.checkpoint_forms import vocabulary

ADDED: Final = ["奥司他韦", "[E1]"]
TEXT: Final = "[E1]一丁[E1]是我[MASK]奥司他韦[SEP]"
BERT_STEPS: Final = {
    "normalizer": {"type": "BertNormalizer", "lowercase": False},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}
PLAIN: Final = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": True}


def described(index: int, content: str) -> dict[str, Any]:
    return {"id": index, "content": content, "special": False} | PLAIN


def lines(source: Path) -> list[str]:
    return (source / "vocab.txt").read_text(encoding="utf-8").splitlines()


def tokenizer_json(source: Path) -> None:
    """As transformers 5 saves them."""
    known = lines(source)
    (source / "vocab.txt").unlink()
    beside_vocabulary(source, known)


def beside_vocabulary(source: Path, known: list[str] | None = None) -> None:
    """As transformers 4 saves them: a vocab.txt without them, and a tokenizer.json."""
    known = known or lines(source)
    content = {
        "added_tokens": [
            {"id": 4, "content": "[MASK]", "special": True} | PLAIN | {"normalized": False},
            *(described(len(known) + number, content) for number, content in enumerate(ADDED)),
        ],
        "model": {"type": "WordPiece", "vocab": {token: i for i, token in enumerate(known)}},
    }
    text = json.dumps(content | BERT_STEPS, ensure_ascii=False)
    (source / "tokenizer.json").write_text(text, encoding="utf-8")


def decoder(source: Path) -> None:
    """`added_tokens_decoder` in tokenizer_config.json."""
    first = len(lines(source))
    listed = {str(first + number): described(0, text) for number, text in enumerate(ADDED)}
    path = source / "tokenizer_config.json"
    content = json.loads(path.read_text()) | {"added_tokens_decoder": listed}
    path.write_text(json.dumps(content), encoding="utf-8")


def added_tokens_json(source: Path) -> None:
    """As transformers 3 saves them."""
    first = len(lines(source))
    listed = {text: first + number for number, text in enumerate(ADDED)}
    (source / "added_tokens.json").write_text(json.dumps(listed), encoding="utf-8")


def codec_of(source: Path) -> TextCodec:
    written = wordpiece.write(wordpiece.read(source), needs_mask=True)
    tokens = len(wordpiece.read(source).tokens)
    folder = source.parent / "written"
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_text(written.json, encoding="utf-8")

    manifest = Manifest(
        id="small",
        digest="",
        tasks=("fill-mask",),
        vocabulary=tokens,
        max_tokens=48,
        hidden=64,
        mask_token="[MASK]",
        special=written.special,
        lowercase=written.lowercase,
        pooling=Pooling("mean", special_tokens=False),
        content={},
    )
    return TextCodec.load(folder, manifest)


FORMS = [tokenizer_json, beside_vocabulary, decoder, added_tokens_json]


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_added_tokens_are_matched_whole_from_every_form(
    source: Path, form: Any, lowercase: bool
) -> None:
    first = len(lines(source))
    form(source)
    codec = codec_of(source)
    encoded = codec.encode(TEXT, lowercase)

    tokens = [codec.token(token) for token in encoded.ids]
    assert tokens[:7] == ["[E1]", "一", "丁", "[E1]", "[UNK]", "[UNK]", "[MASK]"]
    assert tokens[7] == "奥司他韦"
    assert encoded.ids[0] == first + 1
    assert encoded.ids[7] == first
    assert encoded.spans[0] == (0, 4)
    assert TEXT[slice(*encoded.spans[7])] == "奥司他韦"
    # A typed control token stays text.
    assert len(tokens) > 9


@pytest.mark.parametrize("form", FORMS)
def test_an_added_token_is_a_target_of_one_piece(source: Path, form: Any) -> None:
    first = len(lines(source))
    form(source)
    codec = codec_of(source)
    targets = pieces.split(["奥司他韦", "[E1]"], codec, True, unknown=1)
    assert [target.pieces for target in targets.each] == [(first,), (first + 1,)]


def test_a_whole_word_of_the_vocabulary_is_a_target_of_one_piece(source: Path) -> None:
    vocabulary(source, lambda known: [*known[:-2], "一丁", ""])
    targets = pieces.split(["一丁", "丁一", "[CLS]"], codec_of(source), True, unknown=1)
    whole, apart, control = (target.pieces for target in targets.each)
    assert whole == (len(lines(source)) - 1,)
    assert len(apart) == 2
    assert control != (2,)


def test_files_that_disagree_on_an_added_token_are_refused(source: Path) -> None:
    decoder(source)
    (source / "added_tokens.json").write_text(json.dumps({"other": len(lines(source))}))
    with pytest.raises(CheckpointError, match="two different added tokens"):
        wordpiece.read(source)


def test_an_added_token_in_the_place_of_another_is_refused(source: Path) -> None:
    (source / "added_tokens.json").write_text(json.dumps({"奥司他韦": 150}))
    with pytest.raises(CheckpointError, match="has another token there"):
        wordpiece.read(source)
