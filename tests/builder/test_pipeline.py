"""The steps in a tokenizer.json are BERT's, or the checkpoint is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from builder.checkpoint import pipeline
from builder.checkpoint.errors import CheckpointError

NORMALIZER = {"type": "BertNormalizer", "lowercase": True}
SPLITTER = {"type": "BertPreTokenizer"}
DIGITS = {"type": "Digits", "individual_digits": True}


def write(folder: Path, **content: Any) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"normalizer": NORMALIZER, "pre_tokenizer": SPLITTER},
        {"normalizer": {"type": "Sequence", "normalizers": [NORMALIZER]}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLITTER]}},
        {"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}},
    ],
)
def test_the_steps_of_bert_are_followed(tmp_path: Path, content: dict[str, Any]) -> None:
    pipeline.check(write(tmp_path, **content))
    pipeline.check(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, NORMALIZER]}},
            "normalizer NFKC [+] BertNormalizer, and only BertNormalizer",
        ),
        ({"normalizer": {"type": "NFKC"}}, "normalizer NFKC"),
        ({"normalizer": None}, "normalizer null"),
        (
            {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLITTER, DIGITS]}},
            "pre_tokenizer BertPreTokenizer [+] Digits",
        ),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "pre_tokenizer Whitespace"),
        ({"model": {"type": "Unigram"}}, "is a Unigram tokenizer"),
        ({"model": {"continuing_subword_prefix": ""}}, "continuing_subword_prefix"),
        ({"model": {"max_input_chars_per_word": 8}}, "gives 8 as max_input_chars_per_word"),
    ],
)
def test_any_other_step_is_refused_by_name(
    tmp_path: Path, content: dict[str, Any], says: str
) -> None:
    with pytest.raises(CheckpointError, match=says):
        pipeline.check(write(tmp_path, **content))
