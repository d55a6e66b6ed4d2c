"""The masked-LM head: log-probabilities over the vocabulary, and the best candidates."""

import numpy as np

from builder.checkpoint.bert import TENSORS
from builder.checkpoint.tensors import Array
from builder.graph.blocks import Blocks
from fillmask.model import contract


def predict(blocks: Blocks, allowed: Array) -> None:
    """Writes the head's outputs.

    `allowed` [2, vocabulary] is added to the log-probabilities: 0 or -inf.
    """
    w = blocks.w
    x = w.op("Gather", contract.HIDDEN, contract.PREDICT, axis=0)
    x = blocks.activate(blocks.dense_finely(x, TENSORS.transform))
    x = blocks.norm(x, TENSORS.transform_norm)

    bias = blocks.tensors[TENSORS.head_bias]
    logits = blocks.precision.project(w, _table(blocks), x, bias)
    # Over the whole vocabulary: a score does not depend on what may be a candidate.
    scores = w.op("LogSoftmax", logits, axis=-1)

    rows = w.constant("allowed", allowed)
    barred = w.op("Gather", rows, contract.SUBWORDS, axis=0)
    candidates = w.op("Add", scores, barred)
    best = [contract.SCORES, contract.TOKENS]
    w.op("TopK", candidates, contract.TOP_K, outputs=best, axis=-1)

    w.op("Gather", scores, contract.TARGETS, outputs=[contract.TARGET_SCORES], axis=1)


def _table(blocks: Blocks) -> str:
    """The decoder's matrix: the word embeddings, or one of its own where it is not tied to them."""
    words, own = TENSORS.words, TENSORS.decoder
    tensors = blocks.tensors
    if own not in tensors or np.array_equal(tensors[own], tensors[words]):
        return words

    blocks.precision.store_table(blocks.w, own, tensors[own])
    return own
