"""The model as an ONNX graph, written node by node: what is asked for and nothing else.

All texts of a batch lie packed as [tokens, hidden] rows through every product and LayerNorm, so a batch
pays for no padding and a row never sees its batch mates; only attention spreads them to [batch, length].
The last layer runs for the wanted positions, the head for the predicted ones, and top-k inside the graph.
How products are computed (float32 or INT8) is the business of the `Products` handed in.

fillmask/model/contract.py names and describes the inputs and outputs.
"""

from typing import Any, Protocol

import numpy as np
import onnx
from onnx import TensorProto

from builder.checkpoint.bert import HEAD
from builder.checkpoint.reading import Checkpoint
from builder.checkpoint.tensors import Array
from builder.graph.nodes import CONTRIB, Described, Writer
from fillmask.model.contract import (
    ATTENTION_MASK,
    COLLECT,
    HIDDEN,
    INPUT_IDS,
    POSITIONS,
    PREDICT,
    QUERY_ROWS,
    SCORES,
    SPREAD,
    SUBWORDS,
    TARGET_SCORES,
    TARGETS,
    TOKENS,
    TOP_K,
    WANTED,
)

INPUTS: dict[str, list[Any]] = {
    INPUT_IDS: ["T"],
    POSITIONS: ["T"],
    SPREAD: ["B", "L"],
    ATTENTION_MASK: ["B", "L"],
    COLLECT: ["T"],
    QUERY_ROWS: ["B", "Q"],
    WANTED: ["P"],
}
HEAD_INPUTS: dict[str, list[Any]] = {PREDICT: ["M"], SUBWORDS: [], TOP_K: [1], TARGETS: ["G"]}


class Products(Protocol):
    """How matrices are stored and multiplied."""

    def quantise(self, w: Writer, x: str, *, floor: float | None = None) -> Any:
        """Make rows [N, K] ready for `multiply`; `floor` is a lower bound of the values, if one is known. Where
        `x` is a LayerNorm's output, its name is the LayerNorm's (encoder.layer.0.output.LayerNorm)."""

    def multiply(self, w: Writer, x: Any, name: str, weight: Array, bias: Array) -> str:
        """x [N, K] times weight [K, O] plus bias [O]."""

    def table(self, w: Writer, name: str, weight: Array) -> None:
        """Store a matrix [vocabulary, hidden] that is both looked up and multiplied with."""

    def look_up(self, w: Writer, name: str, ids: str) -> str:
        """Rows of a stored table."""

    def project(self, w: Writer, name: str, x: str, bias: Array) -> str:
        """x [M, hidden] times the transposed table plus bias: [M, vocabulary]."""


def write(checkpoint: Checkpoint, products: Products, allowed: Array | None) -> onnx.ModelProto:
    """The whole graph. `allowed` [2, vocabulary] holds 0 or -inf (rows: whole words, pieces too);
    None leaves the head away (an encoder for embeddings)."""
    w = Writer()
    layers = _Layers(w, checkpoint, products)
    x = layers.embed()
    for index in range(checkpoint.shape.layers):
        x = layers.encode(x, index, last=index == checkpoint.shape.layers - 1)
    w.rename_last(HIDDEN)
    outputs: dict[str, Described] = {HIDDEN: (TensorProto.FLOAT, ["P", checkpoint.shape.hidden])}
    inputs = dict(INPUTS)
    if allowed is not None:
        _head(w, checkpoint, products, allowed)
        inputs |= HEAD_INPUTS
        outputs |= {
            SCORES: (TensorProto.FLOAT, ["M", "k"]),
            TOKENS: (TensorProto.INT64, ["M", "k"]),
            TARGET_SCORES: (TensorProto.FLOAT, ["M", "G"]),
        }
    return w.model(
        {
            name: (TensorProto.INT32 if name == ATTENTION_MASK else TensorProto.INT64, dims)
            for name, dims in inputs.items()
        },
        outputs,
    )


class _Layers:
    def __init__(self, w: Writer, checkpoint: Checkpoint, products: Products) -> None:
        self.w, self.shape, self.tensors, self.products = (
            w,
            checkpoint.shape,
            checkpoint.tensors,
            products,
        )

    def norm(self, x: str, name: str) -> str:
        scale = self.w.constant(f"{name}.scale", self.tensors[f"{name}.weight"])
        shift = self.w.constant(f"{name}.shift", self.tensors[f"{name}.bias"])
        self.w.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=self.shape.epsilon)
        return self.w.rename_last(name)

    def embed(self) -> str:
        """Token plus position plus the first token type, normalised."""
        w, name = self.w, "embeddings.word_embeddings.weight"
        self.products.table(w, name, self.tensors[name])
        places = self.tensors["embeddings.position_embeddings.weight"]
        if "embeddings.token_type_embeddings.weight" in self.tensors:
            places = places + self.tensors["embeddings.token_type_embeddings.weight"][0]
        rows = w.op("Gather", w.constant("places.table", places), POSITIONS, axis=0)
        return self.norm(
            w.op("Add", self.products.look_up(w, name, INPUT_IDS), rows), "embeddings.LayerNorm"
        )

    def encode(self, x: str, index: int, *, last: bool) -> str:
        """One post-LayerNorm layer; the last one answers for the wanted positions only."""
        w, name = self.w, f"encoder.layer.{index}"
        ready = self.products.quantise(w, x)
        if last:
            kept = w.op(
                "Gather",
                w.op("Reshape", QUERY_ROWS, w.constant("flat", np.array([-1]))),
                WANTED,
                axis=0,
            )
            residual = w.op("Gather", x, kept, axis=0)
            q = w.op("Gather", self._linear(ready, name, "query"), QUERY_ROWS, axis=0)
            k, v = self._by_head(self._linear(ready, name, "key", "value"), 2)
        else:
            residual = x
            rows = self._linear(ready, name, "query", "key", "value")
            thirds = w.op("Reshape", rows, w.constant("rows", np.array([-1, self.shape.hidden])))
            q = w.op(
                "Gather",
                thirds,
                w.shared("Mul", SPREAD, w.constant("three", np.array(3))),
                axis=0,
            )
            k, v = self._by_head(rows, 3)
        context = w.op(
            "MultiHeadAttention",
            q,
            k,
            v,
            "",
            ATTENTION_MASK,
            domain=CONTRIB,
            num_heads=self.shape.heads,
        )
        flat = w.op("Reshape", context, w.constant("rows", np.array([-1, self.shape.hidden])))
        packed = w.op("Gather", flat, WANTED if last else COLLECT, axis=0)
        out = self._product(self.products.quantise(w, packed), f"{name}.attention.output.dense")
        x = self.norm(w.op("Add", out, residual), f"{name}.attention.output.LayerNorm")
        inner = self._product(self.products.quantise(w, x), f"{name}.intermediate.dense")
        inner = self.activate(inner)
        out = self._product(
            self.products.quantise(w, inner, floor=FLOORS[self.shape.activation]),
            f"{name}.output.dense",
        )
        return self.norm(w.op("Add", out, x), f"{name}.output.LayerNorm")

    def activate(self, x: str) -> str:
        """The feed-forward activation (BERT's `hidden_act`)."""
        if self.shape.activation == "relu":
            return str(self.w.op("Relu", x))
        if self.shape.activation == "gelu_new":
            return str(self.w.op("Gelu", x, approximate="tanh"))
        return str(self.w.op("Gelu", x, domain=CONTRIB))

    def _by_head(self, rows: str, parts: int) -> list[str]:
        """The last two of `parts` parts (query, key, value) of rows [T, parts * hidden], spread to
        [B, heads, L, size]: as attention wants them, so that it has nothing to transpose."""
        w, heads = self.w, self.shape.heads
        pieces = w.op(
            "Reshape", rows, w.constant("pieces", np.array([-1, self.shape.hidden // heads]))
        )
        slots = w.shared(
            "Unsqueeze",
            w.shared("Mul", SPREAD, w.constant(f"pieces_{parts}", np.array(parts * heads))),
            w.constant("heads_axis", np.array([1])),
        )
        spread = []
        for part in range(parts - 2, parts):
            numbers = np.arange(part * heads, (part + 1) * heads).reshape(1, heads, 1)
            places = w.shared("Add", slots, w.constant(f"heads_{part}", numbers))
            spread.append(w.op("Gather", pieces, places, axis=0))
        return spread

    def _linear(self, x: Any, layer: str, *names: str) -> str:
        """Some of query, key and value as one product."""
        stems = [f"{layer}.attention.self.{name}" for name in names]
        weight = np.concatenate([self.tensors[f"{stem}.weight"].T for stem in stems], axis=1)
        bias = np.concatenate([self.tensors[f"{stem}.bias"] for stem in stems])
        return self.products.multiply(self.w, x, f"{layer}.{'-'.join(names)}", weight, bias)

    def _product(self, x: Any, name: str) -> str:
        return self.products.multiply(
            self.w, x, name, self.tensors[f"{name}.weight"].T, self.tensors[f"{name}.bias"]
        )


FLOORS = {
    "relu": 0.0,
    "gelu": -0.17,
    "gelu_new": -0.1701,
}  # the least value each activation can have


def _head(w: Writer, checkpoint: Checkpoint, products: Products, allowed: Array) -> None:
    """Masked-LM head, log-softmax over the whole vocabulary, top-k of what may be a candidate."""
    tensors, transform = checkpoint.tensors, HEAD + "transform"
    layers = _Layers(w, checkpoint, products)
    x = products.quantise(w, w.op("Gather", HIDDEN, PREDICT, axis=0))
    x = products.multiply(
        w,
        x,
        f"{transform}.dense",
        tensors[f"{transform}.dense.weight"].T,
        tensors[f"{transform}.dense.bias"],
    )
    x = layers.norm(layers.activate(x), f"{transform}.LayerNorm")
    table = "embeddings.word_embeddings.weight"
    own = HEAD + "decoder.weight"
    if own in tensors and not np.array_equal(tensors[own], tensors[table]):
        products.table(w, own, tensors[own])  # an untied decoder: a matrix of its own
        table = own
    logits = products.project(w, table, x, tensors[HEAD + "bias"])
    logp = w.op("LogSoftmax", logits, axis=-1)
    mask = w.op("Gather", w.constant("allowed", allowed), SUBWORDS, axis=0)
    w.op("TopK", w.op("Add", logp, mask), TOP_K, axis=-1, outputs=2)
    w.nodes[-1].output[0], w.nodes[-1].output[1] = SCORES, TOKENS
    w.op("Gather", logp, TARGETS, axis=1)
    w.rename_last(TARGET_SCORES)
