"""config.json: which architecture a checkpoint has, and its sizes. Refuses what has no graph."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from builder.checkpoint.architecture import Architecture, ConfigNames, Expected, Fold, Shape
from builder.checkpoint.bert import BERT
from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.json_files import read_object
from builder.checkpoint.relatives import ARCHITECTURES, ELECTRA

USUAL_ACTIVATION: Final = "gelu"
USUAL_EPSILON: Final = 1e-12
LEAST_POSITIONS: Final = 3  # [CLS], a token and [SEP]
ROBERTA_PADDING: Final = 1  # the id where config.json does not say
# What to take instead of an architecture that has no graph.
NEAREST: Final = {
    "albert": "The nearest is a bert of 4 or 6 layers, such as TinyBERT_4L_zh.",
    "nezha": "The nearest is a bert or an ernie: nezha's positions are relative.",
    "deberta-v2": "The nearest is a bert or an xlm-roberta: deberta's positions are relative.",
    "mpnet": "The nearest is a bert such as all-MiniLM-L6-v2: mpnet's positions are relative.",
    "modernbert": "The nearest is a bert: modernbert's positions are rotary.",
    "new": "The nearest is bge-small-zh-v1.5, a bert: this one's positions are rotary.",
}
NEAREST_OF_ALL: Final = "The nearest is a bert of the same task."


class Config(NamedTuple):
    """What config.json says of a checkpoint."""

    architecture: Architecture
    shape: Shape
    tied: bool  # the head multiplies with the word embeddings
    folds: tuple[Fold, ...]  # tables that are added to others, where they are there
    foldable: tuple[Expected, ...]  # the same tables
    demanded: frozenset[str]  # those of them that have to be there
    unused_positions: int  # the rows of the position table before the first one that is used


def read(folder: Path) -> Config:
    """The configuration of a checkpoint folder; raises CheckpointError where it has no graph."""
    path = _file(folder)
    config = read_object(path)
    _check_plain(config, path)
    architecture = _architecture(config, folder)
    shape = _shape(config, architecture, folder)
    unused = _unused_positions(config, architecture, path)
    shape = shape._replace(positions=shape.positions - unused)

    if why := misfit(shape, architecture.config):
        raise CheckpointError(f"{path} {why}.")

    # A table that is switched off counts as one that nothing reads.
    folds = tuple(fold for fold in architecture.folds if config.get(fold.switch) is not False)
    return Config(
        architecture,
        shape,
        tied=config.get("tie_word_embeddings") is not False,
        folds=folds,
        foldable=tuple(
            Expected(fold.table, (config.get(fold.rows, fold.usual_rows), shape.hidden))
            for fold in folds
        ),
        demanded=frozenset(fold.table for fold in folds if config.get(fold.switch)),
        unused_positions=unused,
    )


def _file(folder: Path) -> Path:
    """config.json, or the name that it has beside TensorFlow's checkpoints of BERT."""
    usual, classic = folder / "config.json", folder / "bert_config.json"
    return classic if classic.exists() and not usual.exists() else usual


def _check_plain(config: Mapping[str, Any], path: Path) -> None:
    """Raises CheckpointError for what changes a model beyond its architecture and its sizes."""
    if config.get("quantization_config"):
        raise CheckpointError(
            f"{path} has a quantization_config: the weights are quantised already. Build the "
            "checkpoint that they were made of."
        )
    if config.get("auto_map"):
        raise CheckpointError(
            f"{path} has an auto_map: the checkpoint brings code of its own, which is not run."
        )
    if config.get("is_decoder"):
        raise CheckpointError(
            f"{path} says is_decoder: a token sees only those before it, and no mask is filled so."
        )


def misfit(shape: Shape, names: ConfigNames) -> str | None:
    """Why no graph can be written for these sizes, or None."""
    if shape.positions < LEAST_POSITIONS:
        return (
            f"has {shape.positions} positions, and [CLS], a token and [SEP] take {LEAST_POSITIONS}"
        )
    if shape.hidden % shape.heads:
        return (
            f"has a {names.hidden} of {shape.hidden}, which is not divisible by its "
            f"{shape.heads} heads"
        )
    return None


def _architecture(config: Mapping[str, Any], folder: Path) -> Architecture:
    kind = config.get("model_type", BERT.model_type)
    if kind not in ARCHITECTURES:
        raise CheckpointError(
            f"{folder} is a {kind!r} model{_class_name(config)}, and only these can be built: "
            f"{', '.join(ARCHITECTURES)}. {NEAREST.get(kind, NEAREST_OF_ALL)}"
        )
    width = config.get("hidden_size")
    if kind == ELECTRA.model_type and config.get("embedding_size", width) != width:
        raise CheckpointError(
            f"{folder} has embeddings narrower or wider than its layers (embedding_size "
            f"{config['embedding_size']!r}), and only equal ones can be built, as in the "
            "discriminator of an ELECTRA base."
        )

    positions = config.get("position_embedding_type", "absolute")
    if positions != "absolute":
        raise CheckpointError(
            f"{folder} uses {positions!r} position embeddings, and only absolute ones can be built."
        )
    return ARCHITECTURES[kind]


def _class_name(config: Mapping[str, Any]) -> str:
    classes = config.get("architectures")
    return f" ({classes[0]})" if isinstance(classes, list) and classes else ""


def _unused_positions(config: Mapping[str, Any], architecture: Architecture, path: Path) -> int:
    """RoBERTa's first position is the row behind the padding's id."""
    if not architecture.positions_after_padding:
        return 0

    padding = config.get("pad_token_id", ROBERTA_PADDING)
    if type(padding) is not int or padding < 0:
        raise CheckpointError(f"{path} gives {padding!r} as pad_token_id, which is no token's id.")
    return padding + 1


def _shape(config: Mapping[str, Any], architecture: Architecture, folder: Path) -> Shape:
    names, known = architecture.config, architecture.activations
    activation = config.get(names.activation, USUAL_ACTIVATION)
    if activation not in known:
        raise CheckpointError(
            f"{folder} uses the activation {activation!r}; known are {', '.join(known)}."
        )

    path = _file(folder)
    return Shape(
        layers=_size(config, names.layers, path),
        hidden=_size(config, names.hidden, path),
        heads=_size(config, names.heads, path),
        ffn=_size(config, names.ffn, path),
        positions=_size(config, names.positions, path),
        vocabulary=_size(config, names.vocabulary, path),
        epsilon=_epsilon(config, names.epsilon, path),
        activation=activation,
    )


def _size(config: Mapping[str, Any], name: str, path: Path) -> int:
    if name not in config:
        raise CheckpointError(f"{path} does not say {name!r}.")

    size = config[name]
    if type(size) is not int or size < 1:
        raise CheckpointError(
            f"{path} gives {size!r} as {name}, which is not a whole number above 0."
        )
    return size


def _epsilon(config: Mapping[str, Any], name: str, path: Path) -> float:
    epsilon = config.get(name, USUAL_EPSILON)
    if type(epsilon) not in (int, float) or not 0 < epsilon < 1:
        raise CheckpointError(
            f"{path} gives {epsilon!r} as {name}, which is not a number between 0 and 1."
        )
    return float(epsilon)
