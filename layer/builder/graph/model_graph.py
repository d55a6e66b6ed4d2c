"""The model as an ONNX graph, written node by node: what is asked for and nothing else.

All texts of a batch lie packed as [tokens, hidden] rows through every product and LayerNorm, so a
batch pays for no padding and a row never sees its batch mates; only attention spreads them to
[batch, length]. The last layer runs for the wanted positions, the head for the predicted ones, and
top-k inside the graph.

fillmask/model/contract.py describes the inputs and the outputs.
"""

from typing import Final

import onnx
from onnx import TensorProto

from builder.checkpoint.reading import Checkpoint
from builder.checkpoint.tensors import Array
from builder.graph import encoder, head
from builder.graph.blocks import Blocks
from builder.graph.nodes import TensorType, Writer
from builder.graph.precision import Precision
from fillmask.model import contract

INT64, INT32, FLOAT = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT

ENCODER_INPUTS: Final = {
    contract.INPUT_IDS: TensorType(INT64, ["T"]),
    contract.POSITIONS: TensorType(INT64, ["T"]),
    contract.SPREAD: TensorType(INT64, ["B", "L"]),
    contract.ATTENTION_MASK: TensorType(INT32, ["B", "L"]),
    contract.COLLECT: TensorType(INT64, ["T"]),
    contract.QUERY_ROWS: TensorType(INT64, ["B", "Q"]),
    contract.WANTED: TensorType(INT64, ["P"]),
}
HEAD_INPUTS: Final = {
    contract.PREDICT: TensorType(INT64, ["M"]),
    contract.SUBWORDS: TensorType(INT64, []),
    contract.TOP_K: TensorType(INT64, [1]),
    contract.TARGETS: TensorType(INT64, ["G"]),
}
HEAD_OUTPUTS: Final = {
    contract.SCORES: TensorType(FLOAT, ["M", "k"]),
    contract.TOKENS: TensorType(INT64, ["M", "k"]),
    contract.TARGET_SCORES: TensorType(FLOAT, ["M", "G"]),
}


def write(checkpoint: Checkpoint, precision: Precision, allowed: Array | None) -> onnx.ModelProto:
    """The whole graph. `allowed` [2, vocabulary] holds 0 or -inf (rows: whole words, pieces too);
    None leaves the head away (an encoder for embeddings).
    """
    w = Writer()
    blocks = Blocks(w, checkpoint, precision)
    hidden = {contract.HIDDEN: TensorType(FLOAT, ["P", checkpoint.dimensions])}

    encoder.encode(blocks)
    if allowed is None:
        return w.model(ENCODER_INPUTS, hidden)

    head.predict(blocks, allowed)
    return w.model(ENCODER_INPUTS | HEAD_INPUTS, hidden | HEAD_OUTPUTS)
