"""BERT's encoder: the embeddings and the layers over them, on packed rows [tokens, hidden]."""

from builder.checkpoint.bert import TENSORS
from builder.checkpoint.dense import NAME
from builder.graph.attention import attend, attend_wanted
from builder.graph.blocks import Blocks
from fillmask.model import contract


def encode(blocks: Blocks) -> None:
    """Writes the output `hidden` [P, hidden]: the last layer's states of the wanted positions."""
    x = _embed(blocks)
    last = blocks.shape.layers - 1
    for index in range(last):
        x = _layer(blocks, x, index)
    _last_layer(blocks, x, last)


def _embed(blocks: Blocks) -> str:
    """Word plus position, normalised."""
    w, tensors = blocks.w, blocks.tensors
    blocks.precision.store_table(w, TENSORS.words, tensors[TENSORS.words])

    table = w.constant("places.table", tensors[TENSORS.positions])
    positions = w.op("Gather", table, contract.POSITIONS, axis=0)
    words = blocks.precision.look_up(w, TENSORS.words, contract.INPUT_IDS)

    return blocks.norm(w.op("Add", words, positions), TENSORS.embeddings_norm)


def _layer(blocks: Blocks, x: str, index: int) -> str:
    """One layer, with LayerNorm after each half."""
    context = attend(blocks, blocks.prepare(x), index)
    x = _attention_output(blocks, context, x, index)
    return _feed_forward(blocks, x, index)


def _last_layer(blocks: Blocks, x: str, index: int) -> None:
    """The same for the wanted positions; keys and values are those of all tokens."""
    w = blocks.w
    ready = blocks.prepare(x)

    asked_rows = w.op("Reshape", contract.QUERY_ROWS, w.integers("flat", -1))
    wanted_rows = w.op("Gather", asked_rows, contract.WANTED, axis=0)
    residual = w.op("Gather", x, wanted_rows, axis=0)

    context = attend_wanted(blocks, ready, index)
    x = _attention_output(blocks, context, residual, index)
    if not blocks.last:
        _feed_forward(blocks, x, index, output=contract.HIDDEN)
        return

    x = blocks.dense(_feed_forward(blocks, x, index), NAME)
    w.op("Tanh" if blocks.last.tanh else "Identity", x, outputs=[contract.HIDDEN])


def _attention_output(blocks: Blocks, context: str, residual: str, index: int) -> str:
    names = TENSORS.of_layer(index)
    x = blocks.dense(context, names.attention_output)
    return blocks.norm(blocks.w.op("Add", x, residual), names.attention_norm)


def _feed_forward(blocks: Blocks, x: str, index: int, *, output: str = "") -> str:
    names = TENSORS.of_layer(index)
    inner = blocks.dense(x, names.intermediate)
    inner = blocks.activate(inner)
    outer = blocks.dense(inner, names.output, floor=blocks.floor)
    return blocks.norm(blocks.w.op("Add", outer, x), names.output_norm, output=output)
