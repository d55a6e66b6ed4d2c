"""Configurations, tensors and vocabularies that cannot be built: one sentence, nothing left."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.checkpoint_forms import (
    WORDS,
    Change,
    config,
    positions,
    rename,
    tensor,
    vocabulary,
    without,
)

pytestmark = pytest.mark.usefixtures("few_sentences")

BETA = "bert.embeddings.LayerNorm.beta"
QUERY = "bert.encoder.layer.0.attention.self.query.weight"
BIAS = "cls.predictions.bias"


def says_in_config(**values: Any) -> Change:
    return lambda folder: config(folder, **values)


def has_tensor(name: str, change: Callable[[Any], Any]) -> Change:
    return lambda folder: tensor(folder, name, change)


def lacks(start: str) -> Change:
    return lambda folder: without(folder, start)


def has_lines(change: Callable[[list[str]], list[str]]) -> Change:
    return lambda folder: vocabulary(folder, change)


def holds(name: str, content: str) -> Change:
    return lambda folder: (folder / name).write_text(content)


def has_tokenizer_json(content: str) -> Change:
    """A tokenizer.json instead of vocab.txt."""

    def change(folder: Path) -> None:
        (folder / "vocab.txt").unlink()
        (folder / "tokenizer.json").write_text(content)

    return change


def is_in_gbk(folder: Path) -> None:
    text = (folder / "vocab.txt").read_text(encoding="utf-8")
    (folder / "vocab.txt").write_bytes(text.encode("gbk", "replace"))


CONFIGURATIONS: list[tuple[Change, str]] = [
    (says_in_config(quantization_config={"load_in_8bit": True}), "are quantised already"),
    (says_in_config(auto_map={"AutoModel": "code.Model"}), "brings code of its own"),
    (says_in_config(is_decoder=True), "says is_decoder"),
    (lambda folder: (folder / "config.json").unlink(), "has no config.json"),
    (holds("config.json", "{"), "is not JSON"),
    (
        says_in_config(model_type="albert", architectures=["AlbertForMaskedLM"]),
        "is a 'albert' model (AlbertForMaskedLM), and only these can be built: bert, ernie",
    ),
    (says_in_config(model_type="electra", embedding_size=32), "(embedding_size 32)"),
    (says_in_config(model_type="roberta", pad_token_id="0"), "gives '0' as pad_token_id"),
    (says_in_config(position_embedding_type="relative_key"), "only absolute"),
    (says_in_config(hidden_act="silu"), "activation 'silu'"),
    (says_in_config(num_hidden_layers="2"), "gives '2' as num_hidden_layers"),
    (says_in_config(num_hidden_layers=0), "gives 0 as num_hidden_layers"),
    (says_in_config(layer_norm_eps=None), "gives None as layer_norm_eps"),
    (says_in_config(num_attention_heads=5), "not divisible by its 5 heads"),
    (
        lambda folder: positions(folder, 2),
        "has 2 positions, and [CLS], a token and [SEP] take 3",
    ),
    (
        lambda folder: positions(folder, 16),
        "has 16 positions, and the probes that prove a fill-mask model take 17",
    ),
]

TENSORS: list[tuple[Change, str]] = [
    (lambda folder: rename(folder, lambda name: f"a.{name}"), "; its first are a.bert.embeddings"),
    (
        lacks("cls.predictions.transform.dense.bias"),
        "no tensor cls.predictions.transform.dense.bias",
    ),
    (lacks("cls.predictions.transform.LayerNorm.gamma"), "transform.LayerNorm.weight"),
    (lacks("cls.predictions.bias"), "has no tensor cls.predictions.bias"),
    (has_tensor(QUERY, lambda value: value.astype(np.int8)), "query.weight holds int8 values"),
    (has_tensor(WORDS, lambda value: value.astype(np.uint8)), "holds uint8 values"),
    (lacks("cls.predictions.transform"), "no masked-LM head"),
    (says_in_config(tie_word_embeddings=False), "no masked-LM head"),
    (lacks("bert.encoder.layer.1"), "has no tensor"),
    (lacks("bert.encoder.layer.0.output.LayerNorm.beta"), "layer.0.output.LayerNorm.bias"),
    (lacks("bert.embeddings.LayerNorm.gamma"), "no tensor embeddings.LayerNorm.weight"),
    (
        says_in_config(num_hidden_layers=10**30),
        "tensor encoder.layer.2.attention.self.query.weight",
    ),
    (
        says_in_config(intermediate_size=97),
        "encoder.layer.0.intermediate.dense.weight is 96 x 64, and config.json asks for 97 x 64",
    ),
    (says_in_config(max_position_embeddings=64), "position_embeddings.weight is 48 x 64"),
    (says_in_config(type_vocab_size=1), "token_type_embeddings.weight is 2 x 64"),
    (has_tensor(QUERY, lambda value: value[:, 1:].copy()), "query.weight is 64 x 63"),
    (has_tensor(QUERY, lambda value: np.array(value[0, 0])), "query.weight is one number"),
    (has_tensor(BIAS, lambda value: value[1:].copy()), "predictions.bias is 199"),
    (
        has_tensor(QUERY, lambda value: value * np.nan),
        "self.query.weight holds NaN or infinity",
    ),
    (has_tensor(BIAS, lambda value: value - np.inf), "bias holds NaN or infinity"),
    (has_tensor(BETA, lambda value: value + np.float32(3e38)), "computes NaN or infinity"),
]

VOCABULARIES: list[tuple[Change, str]] = [
    (says_in_config(vocab_size=201), "does not fit"),
    (has_tensor(WORDS, lambda value: value[1:].copy()), "does not fit"),
    (has_lines(lambda lines: [*lines[:-1], "more", ""]), "does not fit"),
    (
        has_lines(lambda lines: ["[M]" if line == "[MASK]" else line for line in lines]),
        "has no [MASK]",
    ),
    (is_in_gbk, "vocab.txt is not a text in UTF-8"),
    (has_tokenizer_json("[]"), "does not hold a JSON object"),
    (has_tokenizer_json('{"model": {"vocab": ["a"]}}'), "does not list tokens and their ids"),
    (has_tokenizer_json('{"model": {"vocab": {"a": "0"}}}'), "leaves gaps"),
    (holds("tokenizer_config.json", '{"strip_accents": "no"}'), "gives 'no' as strip"),
]


@pytest.mark.parametrize(("change", "says"), [*CONFIGURATIONS, *TENSORS, *VOCABULARIES])
def test_what_cannot_be_built_is_one_sentence(
    source: Path, refused: Callable[[Path], str], change: Change, says: str
) -> None:
    change(source)
    assert says in refused(source)
