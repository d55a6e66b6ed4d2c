"""Multi-head attention, the only place where rows leave their packing.

Queries, keys and values are computed on packed rows [tokens, hidden], gathered to [texts, length]
for attention itself, and its result is packed again. T tokens; B texts, padded to L cells each.
"""

import numpy as np

from builder.checkpoint.bert import TENSORS
from builder.graph.blocks import Blocks
from builder.graph.nodes import CONTRIB
from builder.graph.precision import Rows
from fillmask.model import contract


def attend(blocks: Blocks, x: Rows, index: int) -> str:
    """What every token [T, hidden] takes from the tokens of its text."""
    w = blocks.w
    names = TENSORS.of_layer(index)
    together = f"encoder.layer.{index}.query-key-value"
    projected = blocks.linear(x, together, names.query, names.key, names.value)

    # Three rows per token then: its query, its key and its value.
    rows = w.op("Reshape", projected, _row_shape(blocks))
    query_rows = w.shared("Mul", contract.SPREAD, w.integer("three", 3))
    queries = w.op("Gather", rows, query_rows, axis=0)

    keys, values = _keys_and_values(blocks, projected, 3)
    return _attention(blocks, queries, keys, values, pack=contract.COLLECT)


def attend_wanted(blocks: Blocks, x: Rows, index: int) -> str:
    """The same for the wanted positions alone: [P, hidden]."""
    names = TENSORS.of_layer(index)
    projected = blocks.linear(x, f"encoder.layer.{index}.query", names.query)
    queries = blocks.w.op("Gather", projected, contract.QUERY_ROWS, axis=0)

    projected = blocks.linear(x, f"encoder.layer.{index}.key-value", names.key, names.value)
    keys, values = _keys_and_values(blocks, projected, 2)
    return _attention(blocks, queries, keys, values, pack=contract.WANTED)


def _keys_and_values(blocks: Blocks, projected: str, count: int) -> list[str]:
    """The last two of `count` projections [T, count * hidden], each as [B, heads, L, head size]: in
    the layout that attention wants, so that it has nothing to transpose.
    """
    w, heads = blocks.w, blocks.shape.heads
    head_size = blocks.shape.hidden // heads
    by_head = w.op("Reshape", projected, w.integers("pieces", -1, head_size))

    # Of `count * heads` rows per token, those of one projection: [B, 1, L] + [1, heads, 1].
    first = w.shared("Mul", contract.SPREAD, w.integer(f"pieces_{count}", count * heads))
    first = w.shared("Unsqueeze", first, w.integers("heads_axis", 1))

    gathered = []
    for projection in (count - 2, count - 1):
        offsets = np.arange(projection * heads, (projection + 1) * heads).reshape(1, heads, 1)
        head_rows = w.shared("Add", first, w.constant(f"heads_{projection}", offsets))
        gathered.append(w.op("Gather", by_head, head_rows, axis=0))
    return gathered


def _attention(blocks: Blocks, queries: str, keys: str, values: str, *, pack: str) -> str:
    """Context of queries [B, Q, hidden], as the rows whose cells the input `pack` lists."""
    w = blocks.w
    context = w.op(
        "MultiHeadAttention",
        queries,
        keys,
        values,
        "",  # no bias: it is in the projections
        contract.ATTENTION_MASK,
        domain=CONTRIB,
        num_heads=blocks.shape.heads,  # scores are scaled by 1 / sqrt(hidden / heads), its default
    )
    return w.op("Gather", w.op("Reshape", context, _row_shape(blocks)), pack, axis=0)


def _row_shape(blocks: Blocks) -> str:
    return blocks.w.integers("rows", -1, blocks.shape.hidden)
