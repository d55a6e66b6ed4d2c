"""The Dense step of sentence-transformers: one matrix between pooling and normalisation.

It is applied to each position before pooling, where it gives the same vector: a mean of linear
images is the image of the mean, and with CLS pooling there is one position.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from builder.checkpoint import weights
from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.json_files import read_object
from builder.checkpoint.tensors import Array

NAME: Final = "pooling.dense"  # of its two tensors beside the encoder's
WEIGHT: Final = "linear.weight"
BIAS: Final = "linear.bias"
IDENTITY: Final = "Identity"
TANH: Final = "Tanh"


class Dense(NamedTuple):
    """y = W x + b, through tanh if the checkpoint says so."""

    weight: Array  # [dimensions, hidden] float32
    bias: Array  # [dimensions]
    tanh: bool


def read(folder: Path, mode: str) -> Dense:
    """The step in a folder, after pooling of a mode.

    Raises CheckpointError where it is damaged, or would not be the same before pooling.
    """
    path = folder / "config.json"
    config = read_object(path)
    activation = str(config.get("activation_function", TANH)).rpartition(".")[2]
    if activation not in (IDENTITY, TANH) or (activation == TANH and mode == "mean"):
        raise CheckpointError(
            f"{path} asks for {activation} after {mode} pooling, and only Identity can be "
            "built, or Tanh after cls pooling."
        )

    stored = weights.open_folder(folder)
    size = (config.get("out_features"), config.get("in_features"))
    weight = _tensor(stored, WEIGHT, size, path)
    if config.get("bias", True):
        return Dense(weight, _tensor(stored, BIAS, size[:1], path), activation == TANH)
    return Dense(weight, np.zeros(len(weight), np.float32), activation == TANH)


def _tensor(stored: Mapping[str, Array], name: str, size: tuple[object, ...], path: Path) -> Array:
    if name not in frozenset(stored):
        raise CheckpointError(f"{path} asks for a tensor {name}, which is not there.")

    tensor = stored[name].astype(np.float32)
    if tensor.shape != size or not np.isfinite(tensor).all():
        raise CheckpointError(
            f"{path} asks for a tensor {name} of {size}, all of it finite; it has {tensor.shape}."
        )
    return tensor
