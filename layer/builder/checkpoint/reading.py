"""Read a BERT checkpoint: configuration, tensors under one set of names, vocabulary.

Accepts a Hugging Face folder with safetensors (one file or shards) or pytorch_model.bin. Tensor names are
brought to those of transformers' BertForMaskedLM without the `bert.` prefix and with LayerNorm
weight/bias (bert-base-chinese says gamma/beta), and their shapes compared with what the configuration asks
for. It does not fetch (hub.py) and does not convert (graph.py).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from builder.checkpoint import architecture, weights
from builder.checkpoint.architecture import HEAD, Shape

Array = npt.NDArray[Any]
ACTIVATIONS = ("gelu", "gelu_new", "relu")
TYPES = "embeddings.token_type_embeddings.weight"  # which some checkpoints lack
PADDING = "[unused_pad"  # begins the name of an embedding that no token has; a control token, so never a candidate
# Options of BERT's normaliser: their names in tokenizer.json, and in tokenizer_config.json, which comes first.
NORMALISER = {
    "lowercase": "do_lower_case",
    "strip_accents": "strip_accents",
    "handle_chinese_chars": "tokenize_chinese_chars",
}


class CheckpointError(Exception):
    """The folder is not a checkpoint this builder can convert; one sentence says why."""


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
    config = read_json(folder / "config.json")
    shape = _shape(config, folder)
    found = weights.open_folder(folder)
    if found is None:
        raise CheckpointError(f"{folder} holds neither model.safetensors nor pytorch_model.bin.")
    tied = config.get("tie_word_embeddings") is not False
    tensors = Renamed(found, tied=tied)
    vocabulary, options = _vocabulary(folder)
    _check_vocabulary(tensors, shape, len(vocabulary))
    _check_tensors(tensors, architecture.encoder(shape))
    if TYPES in tensors:
        _check_tensors(tensors, [(TYPES, (config.get("type_vocab_size", 2), shape.hidden))])
    if head:
        _check_head(tensors, list(architecture.head(shape, tied=tied)))
    vocabulary += [f"{PADDING}{index}]" for index in range(len(vocabulary), shape.vocabulary)]
    return Checkpoint(folder, shape, tensors, vocabulary, options)


class Renamed(Mapping[str, Array]):
    """Tensors under canonical names, read from their file on access. A decoder that is `tied` to the embeddings
    has no matrix of its own, whatever the file holds: it may be a leftover of training."""

    def __init__(self, found: Mapping[str, Array], *, tied: bool) -> None:
        self._weights = found
        self._names = {_canonical(name): name for name in found}
        if tied:
            self._names.pop(HEAD + "decoder.weight", None)
        if HEAD + "decoder.bias" in self._names:  # the same tensor by its other name
            self._names.setdefault(HEAD + "bias", self._names[HEAD + "decoder.bias"])

    def __getitem__(self, name: str) -> Array:
        return np.asarray(self._weights[self._names[name]], dtype=np.float32)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _canonical(name: str) -> str:
    name = re.sub(r"^(module\.)?(bert\.)?", "", name)
    return re.sub(
        r"LayerNorm\.(gamma|beta)$",
        lambda m: "LayerNorm." + {"gamma": "weight", "beta": "bias"}[m[1]],
        name,
    )


def read_json(path: Path, kind: type = dict) -> Any:
    """The object (or list) in a file of the checkpoint; raise CheckpointError when there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{path.parent} has no {path.name}.") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is not JSON: {error}.") from None
    if not isinstance(value, kind):
        raise CheckpointError(
            f"{path} does not hold a JSON {'object' if kind is dict else 'list'}."
        )
    return value


def _shape(config: Mapping[str, Any], folder: Path) -> Shape:
    kind = config.get("model_type", "bert")
    if kind != "bert":
        raise CheckpointError(
            f"{folder} is a {kind!r} model, and only the BERT architecture can be built."
        )
    if (position := config.get("position_embedding_type", "absolute")) != "absolute":
        raise CheckpointError(
            f"{folder} uses {position!r} position embeddings, and only absolute ones can be built."
        )
    if (activation := config.get("hidden_act", "gelu")) not in ACTIVATIONS:
        raise CheckpointError(
            f"{folder} uses the activation {activation!r}; known are {', '.join(ACTIVATIONS)}."
        )
    try:
        shape = Shape(
            layers=config["num_hidden_layers"],
            hidden=config["hidden_size"],
            heads=config["num_attention_heads"],
            ffn=config["intermediate_size"],
            positions=config["max_position_embeddings"],
            vocabulary=config["vocab_size"],
            epsilon=config.get("layer_norm_eps", 1e-12),
            activation=activation,
        )
    except KeyError as missing:
        raise CheckpointError(f"{folder / 'config.json'} does not say {missing}.") from None
    if why := architecture.misfit(shape):
        raise CheckpointError(f"{folder / 'config.json'} {why}.")
    return shape


def _vocabulary(folder: Path) -> tuple[list[str], dict[str, Any]]:
    """Tokens by id, and what the folder says of normalisation (lower case, accents, ideographs)."""
    options = _options(folder)
    path = folder / "vocab.txt"
    if path.exists():
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except UnicodeDecodeError:
            raise CheckpointError(f"{path} is not a text in UTF-8.") from None
        return [line.rstrip("\r") for line in (lines[:-1] if not lines[-1] else lines)], options
    path = folder / "tokenizer.json"
    if not path.exists():
        raise CheckpointError(f"{folder} has neither vocab.txt nor tokenizer.json.")
    try:
        return _from_tokenizer_json(read_json(path), folder), options
    except (AttributeError, KeyError, TypeError):
        raise CheckpointError(f"{path} does not list tokens and their ids.") from None


def _options(folder: Path) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if (folder / "tokenizer.json").exists():
        given = read_json(folder / "tokenizer.json").get("normalizer")
        given = given if isinstance(given, dict) else {}
        options = {
            key: given[name] for name, key in NORMALISER.items() if given.get(name) is not None
        }
    if (folder / "tokenizer_config.json").exists():
        given = read_json(folder / "tokenizer_config.json")
        options |= {key: given[key] for key in NORMALISER.values() if given.get(key) is not None}
    for key, value in options.items():
        if not isinstance(value, bool):
            raise CheckpointError(
                f"{folder} gives {value!r} as {key}, which is neither true nor false."
            )
    return options


def _from_tokenizer_json(content: Mapping[str, Any], folder: Path) -> list[str]:
    model = content.get("model") or {}
    if model.get("type", "WordPiece") != "WordPiece":
        raise CheckpointError(
            f"{folder / 'tokenizer.json'} is a {model['type']} tokenizer, not WordPiece."
        )
    by_id = {index: token for token, index in model.get("vocab", {}).items()}
    by_id |= {row["id"]: row["content"] for row in content.get("added_tokens", ())}
    if sorted(by_id) != list(range(len(by_id))):
        raise CheckpointError(f"{folder / 'tokenizer.json'} leaves gaps between its token ids.")
    if not all(isinstance(token, str) for token in by_id.values()):
        raise TypeError
    return [by_id[index] for index in range(len(by_id))]


def _check_vocabulary(tensors: Mapping[str, Array], shape: Shape, tokens: int) -> None:
    """There may be more embeddings than tokens, for a rounder number or for tokens added later, but not fewer."""
    name = "embeddings.word_embeddings.weight"
    rows = tensors[name].shape[:1] if name in tensors else (shape.vocabulary,)
    if rows != (shape.vocabulary,) or tokens > shape.vocabulary:
        raise CheckpointError(
            f"The vocabulary does not fit: {tokens} tokens, {sum(rows)} embeddings, "
            f"vocab_size {shape.vocabulary}."
        )


def _check_tensors(tensors: Mapping[str, Array], expected: Iterable[architecture.Named]) -> None:
    for name, wanted in expected:
        if name not in tensors:
            raise CheckpointError(f"The checkpoint has no tensor {name}.")
        tensor = tensors[name]
        if tensor.shape != wanted:
            raise CheckpointError(
                f"The tensor {name} is {_by(tensor.shape)}, and config.json asks for {_by(wanted)}."
            )
        if not np.isfinite(tensor).all():
            raise CheckpointError(f"The tensor {name} holds NaN or infinity: the file is damaged.")


def _check_head(tensors: Mapping[str, Array], expected: list[architecture.Named]) -> None:
    if not all(name in tensors for name, _ in expected):
        raise CheckpointError(
            "The checkpoint has no masked-LM head (cls.predictions.*), so it cannot fill masks; "
            "--task embed builds it for embeddings alone."
        )
    _check_tensors(tensors, expected)


def _by(shape: tuple[Any, ...]) -> str:
    return " x ".join(map(str, shape)) or "one number"
