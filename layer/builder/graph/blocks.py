"""BERT's building blocks in the graph: linear layers, LayerNorm, and the activation of its
feed-forward network.
"""

from typing import Final

import numpy as np

from builder.checkpoint.reading import Checkpoint
from builder.graph.nodes import CONTRIB, Writer
from builder.graph.precision import Precision, Rows

FLOORS: Final = {
    "relu": 0.0,
    "gelu": -0.17,
    "gelu_new": -0.1701,
}  # no activation's value lies below


class Blocks:
    """Writes blocks of one checkpoint in one precision; each is named as its tensors are."""

    def __init__(self, w: Writer, checkpoint: Checkpoint, precision: Precision) -> None:
        self.w = w
        self.shape = checkpoint.shape
        self.tensors = checkpoint.tensors
        self.last = checkpoint.dense
        self.precision = precision

    def prepare(self, x: str) -> Rows:
        """Rows [N, K], made ready once for several linear layers."""
        return self.precision.prepare(self.w, x)

    def linear(self, x: Rows, name: str, *layers: str) -> str:
        """Rows [N, K] through linear layers, whose outputs lie side by side: [N, their sum]."""
        weight = np.concatenate([self.tensors[f"{layer}.weight"].T for layer in layers], axis=1)
        bias = np.concatenate([self.tensors[f"{layer}.bias"] for layer in layers])
        return self.precision.multiply(self.w, x, name, weight, bias)

    def dense(self, x: str, name: str, *, floor: float | None = None) -> str:
        """Rows [N, K] through one linear layer."""
        ready = self.precision.prepare(self.w, x, floor=floor)
        return self.linear(ready, name, name)

    def dense_finely(self, x: str, name: str) -> str:
        """The same where rows are few, and multiplied with more care."""
        weight, bias = self.tensors[f"{name}.weight"].T, self.tensors[f"{name}.bias"]
        return self.precision.multiply_finely(self.w, x, name, weight, bias)

    def norm(self, x: str, name: str, *, output: str = "") -> str:
        """LayerNorm over rows [N, hidden]; the result is called `output`, or else `name`."""
        scale = self.w.constant(f"{name}.scale", self.tensors[f"{name}.weight"])
        shift = self.w.constant(f"{name}.shift", self.tensors[f"{name}.bias"])
        return self.w.op(
            "LayerNormalization",
            x,
            scale,
            shift,
            outputs=[output or name],
            axis=-1,
            epsilon=self.shape.epsilon,
        )

    def activate(self, x: str) -> str:
        """The feed-forward network's activation (BERT's `hidden_act`)."""
        if self.shape.activation == "relu":
            return self.w.op("Relu", x)
        if self.shape.activation == "gelu_new":
            return self.w.op("Gelu", x, approximate="tanh")
        return self.w.op("Gelu", x, domain=CONTRIB)

    @property
    def floor(self) -> float:
        """A lower bound of what comes out of the activation."""
        return FLOORS[self.shape.activation]
