"""config.json: which architecture a checkpoint has, and its sizes. Refuses what has no graph."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from builder.checkpoint.architecture import Architecture, ConfigNames, Expected, Shape
from builder.checkpoint.bert import BERT
from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.json_files import read_object

ACTIVATIONS: Final = ("gelu", "gelu_new", "relu")
USUAL_ACTIVATION: Final = "gelu"
USUAL_EPSILON: Final = 1e-12
LEAST_POSITIONS: Final = 3  # [CLS], a token and [SEP]
LEAST_BLOCK: Final = 16  # of MatMulNBits, which multiplies with the embedding table


class Config(NamedTuple):
    """What config.json says of a checkpoint."""

    architecture: Architecture
    shape: Shape
    tied: bool  # the head multiplies with the word embeddings
    foldable: tuple[Expected, ...]  # the tables that are folded into others, where they are there


def read(folder: Path) -> Config:
    """The configuration of a checkpoint folder; raises CheckpointError where it has no graph."""
    path = folder / "config.json"
    config = read_object(path)
    architecture = _architecture(config, folder)
    shape = _shape(config, architecture.config, folder)

    if why := misfit(shape, architecture.config):
        raise CheckpointError(f"{path} {why}.")

    return Config(
        architecture,
        shape,
        tied=config.get("tie_word_embeddings") is not False,
        foldable=tuple(
            Expected(fold.table, (config.get(fold.rows, fold.usual_rows), shape.hidden))
            for fold in architecture.folds
        ),
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
    if shape.hidden % LEAST_BLOCK:
        return (
            f"has a {names.hidden} of {shape.hidden}, and only multiples of {LEAST_BLOCK} "
            "can be built"
        )
    return None


def _architecture(config: Mapping[str, Any], folder: Path) -> Architecture:
    kind = config.get("model_type", BERT.model_type)
    if kind != BERT.model_type:
        raise CheckpointError(
            f"{folder} is a {kind!r} model, and only the BERT architecture can be built."
        )

    positions = config.get("position_embedding_type", "absolute")
    if positions != "absolute":
        raise CheckpointError(
            f"{folder} uses {positions!r} position embeddings, and only absolute ones can be built."
        )
    return BERT


def _shape(config: Mapping[str, Any], names: ConfigNames, folder: Path) -> Shape:
    activation = config.get(names.activation, USUAL_ACTIVATION)
    if activation not in ACTIVATIONS:
        raise CheckpointError(
            f"{folder} uses the activation {activation!r}; known are {', '.join(ACTIVATIONS)}."
        )

    path = folder / "config.json"
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
