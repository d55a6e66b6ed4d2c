"""A decoder that is not tied to the word embeddings answers as it does in transformers."""

from pathlib import Path

import numpy as np
import onnxruntime

from builder.checkpoint import wordpiece
from builder.checkpoint.reading import Checkpoint
from builder.graph import model_graph
from builder.graph.precision import Float32
from fillmask.model.contract import TARGET_SCORES, Query
from fillmask.model.feeds import encoder_feeds, head_feeds
from support import untied
from support.paths import GOLDEN


def test_the_bias_of_an_untied_decoder_is_its_own(tmp_path: Path) -> None:
    checkpoint = Checkpoint.load(untied.write(tmp_path / "source"))
    allowed = wordpiece.allowed(checkpoint.tokenizer.tokens)
    model = model_graph.write(checkpoint, Float32(), allowed)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )

    head = head_feeds(1, subwords=True, k=1, targets=np.arange(checkpoint.shape.vocabulary))
    feeds = encoder_feeds([Query(untied.IDS, [untied.MASK_AT])]) | head
    (ours,) = session.run([TARGET_SCORES], feeds)

    with np.load(GOLDEN / "untied.npz") as golden:
        assert np.abs(ours[0] - golden["scores"]).max() <= 1e-3
