"""How a kind of checkpoint is described: what its configuration and its tensors are called.

An architecture is one value of the type Architecture; bert.py holds BERT's. Reads no file.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

# Begin the names of a model that was compiled, trained on several machines or wrapped in another.
WRAPPERS: Final = ("_orig_mod.", "module.", "model.")


class Shape(NamedTuple):
    """The sizes of one checkpoint."""

    layers: int
    hidden: int
    heads: int
    ffn: int  # width of the feed-forward network inside a layer
    positions: int  # the longest text in tokens, [CLS] and [SEP] included
    vocabulary: int  # rows of the embedding table
    epsilon: float  # of every LayerNorm
    activation: str


class ConfigNames(NamedTuple):
    """What config.json calls the members of a Shape."""

    layers: str
    hidden: str
    heads: str
    ffn: str
    positions: str
    vocabulary: str
    epsilon: str
    activation: str


class TensorNames(NamedTuple):
    """What the tensors are called, by role; {} stands for the number of a layer.

    Tables and the head's bias are tensors. The others are linear layers and LayerNorms, whose two
    tensors add .weight and .bias to the name.
    """

    words: str
    positions: str
    embeddings_norm: str
    query: str
    key: str
    value: str
    attention_output: str
    attention_norm: str
    intermediate: str
    output: str
    output_norm: str
    transform: str
    transform_norm: str
    head_bias: str
    decoder: str

    def of_layer(self, layer: int) -> "TensorNames":
        """The same with the number of one layer filled in."""
        return TensorNames(*(name.format(layer) for name in self))


class Fold(NamedTuple):
    """A table of which only row 0 is ever used, so that it can be added to another table.

    A checkpoint may lack it.
    """

    table: str
    into: str
    rows: str  # what config.json calls the number of rows
    usual_rows: int  # where it does not say
    switch: str = (
        ""  # what config.json calls the option that turns the table on or off, if it has one
    )


class Architecture(NamedTuple):
    """One kind of checkpoint. A tensor's name is brought to one spelling before it is looked up."""

    model_type: str  # in config.json
    config: ConfigNames
    tensors: TensorNames
    folds: tuple[Fold, ...]
    prefixes: tuple[str, ...]  # that may begin every name, in this order
    endings: tuple[tuple[str, str], ...]  # old ones, and what replaces them
    aliases: tuple[tuple[str, str], ...]  # second names, and the tensor each stands for
    activations: tuple[str, ...]
    # Beginnings of names after that, as regular expressions, and BERT's own beginnings.
    renames: tuple[tuple[str, str], ...] = ()
    # The first position is the row behind the padding's id; the rows before it are never used.
    positions_after_padding: bool = False

    def spelled(self, name: str) -> str:
        """The one spelling of a tensor's name."""
        while wrapper := next((start for start in WRAPPERS if name.startswith(start)), ""):
            name = name.removeprefix(wrapper)
        for prefix in self.prefixes:
            name = name.removeprefix(prefix)
        for old, new in self.endings:
            if name.endswith(old):
                name = name.removesuffix(old) + new
        for pattern, beginning in self.renames:
            name = re.sub(f"^{pattern}", beginning, name)
        return name


class Expected(NamedTuple):
    """A tensor that a checkpoint should have."""

    name: str
    size: tuple[int, ...]


def encoder_tensors(names: TensorNames, shape: Shape) -> Iterator[Expected]:
    """The encoder's tensors, without those that are folded into others.

    One by one, because a configuration may claim any number of layers.
    """
    yield Expected(names.words, (shape.vocabulary, shape.hidden))
    yield Expected(names.positions, (shape.positions, shape.hidden))
    yield from _norm(names.embeddings_norm, shape)
    for layer in range(shape.layers):
        yield from _layer(names.of_layer(layer), shape)


def head_tensors(names: TensorNames, shape: Shape, *, tied: bool) -> Iterator[Expected]:
    """Those of the masked-LM head.

    Where it is not `tied` to the word embeddings, it has a matrix of its own.
    """
    yield from _linear(names.transform, shape.hidden, shape.hidden)
    yield from _norm(names.transform_norm, shape)
    yield Expected(names.head_bias, (shape.vocabulary,))
    if not tied:
        yield Expected(names.decoder, (shape.vocabulary, shape.hidden))


def _layer(names: TensorNames, shape: Shape) -> Iterator[Expected]:
    for name in (names.query, names.key, names.value, names.attention_output):
        yield from _linear(name, shape.hidden, shape.hidden)
    yield from _linear(names.intermediate, shape.ffn, shape.hidden)
    yield from _linear(names.output, shape.hidden, shape.ffn)
    yield from _norm(names.attention_norm, shape)
    yield from _norm(names.output_norm, shape)


def _linear(name: str, rows: int, columns: int) -> list[Expected]:
    return [Expected(f"{name}.weight", (rows, columns)), Expected(f"{name}.bias", (rows,))]


def _norm(name: str, shape: Shape) -> list[Expected]:
    return [Expected(f"{name}.{part}", (shape.hidden,)) for part in ("weight", "bias")]
