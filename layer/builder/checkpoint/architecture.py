"""BERT's architecture in numbers: the sizes a configuration gives, and the tensors they ask for. It reads no file."""

from collections.abc import Iterator
from typing import NamedTuple

Named = tuple[str, tuple[int, ...]]
HEAD = "cls.predictions."
LEAST_POSITIONS = 3
LEAST_BLOCK = 16  # of MatMulNBits, which multiplies with the embedding table


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


def misfit(shape: Shape) -> str | None:
    """Why no graph can be written for these sizes, or None."""
    sizes = {
        "num_hidden_layers": shape.layers,
        "hidden_size": shape.hidden,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.ffn,
        "max_position_embeddings": shape.positions,
        "vocab_size": shape.vocabulary,
    }
    for name, size in sizes.items():
        if type(size) is not int or size < 1:
            return f"gives {size!r} as {name}, which is no whole number above 0"
    if type(shape.epsilon) not in (int, float) or not 0 < shape.epsilon < 1:
        return f"gives {shape.epsilon!r} as layer_norm_eps, which is no number between 0 and 1"
    if shape.positions < LEAST_POSITIONS:
        return (
            f"has {shape.positions} positions, and [CLS], a token and [SEP] take {LEAST_POSITIONS}"
        )
    if shape.hidden % shape.heads:
        return (
            f"shares a hidden_size of {shape.hidden} among {shape.heads} heads, which leaves a rest"
        )
    if shape.hidden % LEAST_BLOCK:
        return (
            f"has a hidden_size of {shape.hidden}, and only multiples of {LEAST_BLOCK} can be built"
        )
    return None


def encoder(shape: Shape) -> Iterator[Named]:
    """Name and shape of every tensor of the encoder, one by one, as a configuration may claim any number of layers;
    token types, which some checkpoints lack, are not among them."""
    yield "embeddings.word_embeddings.weight", (shape.vocabulary, shape.hidden)
    yield "embeddings.position_embeddings.weight", (shape.positions, shape.hidden)
    yield from _norm("embeddings", shape)
    for index in range(shape.layers):
        layer = f"encoder.layer.{index}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            yield from _dense(f"{layer}.attention.{part}", shape.hidden, shape.hidden)
        yield from _dense(f"{layer}.intermediate.dense", shape.ffn, shape.hidden)
        yield from _dense(f"{layer}.output.dense", shape.hidden, shape.ffn)
        yield from _norm(f"{layer}.attention.output", shape)
        yield from _norm(f"{layer}.output", shape)


def head(shape: Shape, *, tied: bool) -> Iterator[Named]:
    """The same of the masked-LM head, with a matrix of its own where it is not tied to the embeddings."""
    yield from _dense(f"{HEAD}transform.dense", shape.hidden, shape.hidden)
    yield from _norm(f"{HEAD}transform", shape)
    yield f"{HEAD}bias", (shape.vocabulary,)
    if not tied:
        yield f"{HEAD}decoder.weight", (shape.vocabulary, shape.hidden)


def _dense(name: str, rows: int, columns: int) -> list[Named]:
    return [(f"{name}.weight", (rows, columns)), (f"{name}.bias", (rows,))]


def _norm(name: str, shape: Shape) -> list[Named]:
    return [
        (f"{name}.LayerNorm.weight", (shape.hidden,)),
        (f"{name}.LayerNorm.bias", (shape.hidden,)),
    ]
