"""BERT's encoder in plain numpy, float64, written from the architecture.

An oracle that shares no code with the builder. Reads the tensors of checkpoints.py (gamma and beta,
no prefix), one text at a time.
"""

from collections.abc import Mapping, Sequence
from math import erf, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
erfs = np.vectorize(erf)


def hidden_states(tensors: Mapping[str, Any], ids: Sequence[int], heads: int) -> Array:
    """The hidden states after the last layer, [tokens, hidden]."""

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        unit = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return np.asarray(
            unit * tensors[f"{name}.LayerNorm.gamma"] + tensors[f"{name}.LayerNorm.beta"]
        )

    def dense(x: Array, name: str) -> Array:
        return np.asarray(
            x @ tensors[f"{name}.weight"].T.astype(np.float64) + tensors[f"{name}.bias"]
        )

    table = "embeddings.{}_embeddings.weight".format
    x = norm(
        tensors[table("word")][list(ids)].astype(np.float64)
        + tensors[table("position")][: len(ids)]
        + tensors[table("token_type")][0],
        "embeddings",
    )
    layers = sum(name.endswith("intermediate.dense.bias") for name in tensors)
    for layer in (f"encoder.layer.{index}" for index in range(layers)):
        q, k, v = (
            dense(x, f"{layer}.attention.self.{part}").reshape(len(ids), heads, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        weights = np.exp(q @ k.swapaxes(1, 2) / sqrt(q.shape[-1]))
        mixed = (weights / weights.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), -1)
        x = norm(x + dense(mixed, f"{layer}.attention.output.dense"), f"{layer}.attention.output")
        inner = dense(x, f"{layer}.intermediate.dense")
        x = norm(
            x + dense(inner * (1 + erfs(inner / sqrt(2))) / 2, f"{layer}.output.dense"),
            f"{layer}.output",
        )
    return x


def unit(vector: Array) -> Array:
    """The vector scaled to length 1."""
    return np.asarray(vector / np.linalg.norm(vector))
