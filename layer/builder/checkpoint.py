"""Read a BERT checkpoint: configuration, tensors under one set of names, vocabulary.

Accepts a Hugging Face folder with safetensors (one file or shards) or pytorch_model.bin. Tensor names are
brought to those of transformers' BertForMaskedLM without the `bert.` prefix and with LayerNorm
weight/bias (bert-base-chinese says gamma/beta). It does not fetch (hub.py) and does not convert (graph.py).
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from builder import tensors as files

Array = npt.NDArray[Any]
ACTIVATIONS = ("gelu", "gelu_new", "relu")
HEAD = "cls.predictions."
# Options of BERT's normaliser: their names in tokenizer.json, and in tokenizer_config.json, which comes first.
NORMALISER = {"lowercase": "do_lower_case", "strip_accents": "strip_accents",
              "handle_chinese_chars": "tokenize_chinese_chars"}


class CheckpointError(Exception):
    """The folder is not a checkpoint this builder can convert; one sentence says why."""


class Shape(NamedTuple):
    """Sizes of the architecture, under the names of transformers' BertConfig where they are long."""

    layers: int
    hidden: int
    heads: int
    ffn: int
    positions: int
    vocabulary: int
    epsilon: float
    activation: str


class Checkpoint(NamedTuple):
    """A readable checkpoint. `tensors` loads each tensor when it is asked for, as float32."""

    folder: Path
    shape: Shape
    tensors: Mapping[str, Array]
    vocabulary: list[str]
    tokenizer_options: dict[str, Any]


def load(folder: Path, *, head: bool = True) -> Checkpoint:
    """Open `folder`; raise CheckpointError in one sentence when it is not BERT, or lacks a masked-LM head
    that is asked for."""
    shape = _shape(read_json(folder / "config.json"), folder)
    weights = files.open_folder(folder)
    if weights is None:
        raise CheckpointError(f"{folder} holds neither model.safetensors nor pytorch_model.bin.")
    tensors = Renamed(weights)
    vocabulary, options = _vocabulary(folder)
    _check_tensors(tensors, shape, len(vocabulary), head)
    return Checkpoint(folder, shape, tensors, vocabulary, options)


class Renamed(Mapping[str, Array]):
    """Tensors under canonical names, read from their file on access."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self._weights = weights
        self._names = {_canonical(name): name for name in weights}

    def __getitem__(self, name: str) -> Array:
        return np.asarray(self._weights[self._names[name]], dtype=np.float32)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _canonical(name: str) -> str:
    name = re.sub(r"^(module\.)?(bert\.)?", "", name)
    return re.sub(r"LayerNorm\.(gamma|beta)$",
                  lambda m: "LayerNorm." + {"gamma": "weight", "beta": "bias"}[m[1]], name)


def read_json(path: Path, kind: type = dict) -> Any:
    """The object (or list) in a file of the checkpoint; raise CheckpointError when there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{path.parent} has no {path.name}.") from None
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON: {error}.") from None
    if not isinstance(value, kind):
        raise CheckpointError(f"{path} does not hold a JSON {'object' if kind is dict else 'list'}.")
    return value


def _shape(config: Mapping[str, Any], folder: Path) -> Shape:
    kind = config.get("model_type", "bert")
    if kind != "bert":
        raise CheckpointError(f"{folder} is a {kind!r} model, and only the BERT architecture can be built.")
    if (position := config.get("position_embedding_type", "absolute")) != "absolute":
        raise CheckpointError(f"{folder} uses {position!r} position embeddings, and only absolute ones can be built.")
    if (activation := config.get("hidden_act", "gelu")) not in ACTIVATIONS:
        raise CheckpointError(f"{folder} uses the activation {activation!r}; known are {', '.join(ACTIVATIONS)}.")
    try:
        return Shape(
            layers=config["num_hidden_layers"], hidden=config["hidden_size"], heads=config["num_attention_heads"],
            ffn=config["intermediate_size"], positions=config["max_position_embeddings"],
            vocabulary=config["vocab_size"], epsilon=config.get("layer_norm_eps", 1e-12), activation=activation,
        )
    except KeyError as missing:
        raise CheckpointError(f"{folder / 'config.json'} does not say {missing}.") from None


def _vocabulary(folder: Path) -> tuple[list[str], dict[str, Any]]:
    """Tokens by id, and what the folder says of normalisation (lower case, accents, ideographs)."""
    options: dict[str, Any] = {}
    if (folder / "tokenizer.json").exists():
        given = read_json(folder / "tokenizer.json").get("normalizer") or {}
        options = {key: given[name] for name, key in NORMALISER.items() if given.get(name) is not None}
    if (folder / "tokenizer_config.json").exists():
        given = read_json(folder / "tokenizer_config.json")
        options |= {key: given[key] for key in NORMALISER.values() if given.get(key) is not None}
    if (folder / "vocab.txt").exists():
        lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
        return [line.rstrip("\r") for line in (lines[:-1] if not lines[-1] else lines)], options
    if not (folder / "tokenizer.json").exists():
        raise CheckpointError(f"{folder} has neither vocab.txt nor tokenizer.json.")
    return _from_tokenizer_json(read_json(folder / "tokenizer.json"), folder), options


def _from_tokenizer_json(content: Mapping[str, Any], folder: Path) -> list[str]:
    model = content.get("model") or {}
    if model.get("type", "WordPiece") != "WordPiece":
        raise CheckpointError(f"{folder / 'tokenizer.json'} is a {model['type']} tokenizer, not WordPiece.")
    by_id = {index: token for token, index in model.get("vocab", {}).items()}
    by_id |= {row["id"]: row["content"] for row in content.get("added_tokens", ())}
    if sorted(by_id) != list(range(len(by_id))):
        raise CheckpointError(f"{folder / 'tokenizer.json'} leaves gaps between its token ids.")
    return [by_id[index] for index in range(len(by_id))]


def _check_tensors(tensors: Mapping[str, Array], shape: Shape, tokens: int, head: bool) -> None:
    required = ["embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight",
                f"encoder.layer.{shape.layers - 1}.output.LayerNorm.weight"]
    for name in required:
        if name not in tensors:
            raise CheckpointError(f"The checkpoint has no tensor {name}.")
    if head and (HEAD + "transform.dense.weight" not in tensors or HEAD + "bias" not in tensors):
        raise CheckpointError("The checkpoint has no masked-LM head (cls.predictions.*), so it cannot fill masks; "
                              "--task embed builds it for embeddings alone.")
    rows = tensors["embeddings.word_embeddings.weight"].shape[0]
    if not tokens == rows == shape.vocabulary:
        raise CheckpointError(
            f"The vocabulary does not fit: {tokens} tokens, {rows} embeddings, vocab_size {shape.vocabulary}.")
