"""Models for embeddings alone, built of small random checkpoints."""

from pathlib import Path
from typing import Final

import onnx
import onnxruntime

from builder.checkpoint.reading import Checkpoint
from builder.graph import model_graph
from builder.graph.precision import Float32
from builder.model.__main__ import main
from fillmask.model import manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.embed import Embedder

# Configurations of 1_Pooling.
CLS: Final = {
    "word_embedding_dimension": 64,
    "pooling_mode_cls_token": True,
    "pooling_mode_mean_tokens": False,
}
MEAN: Final = {
    "word_embedding_dimension": 64,
    "pooling_mode_mean_tokens": True,
    "pooling_mode_max_tokens": False,
}


def built(source: Path) -> Path:
    """The model folder that the builder makes of a checkpoint."""
    out = source.parent / "out"
    arguments = [str(source), "--out", str(out), "--task", "embed", "--name", "small"]
    assert main(arguments) == 0
    return out


def embedder(model: Path) -> Embedder:
    """On a built model."""
    described = manifest.read(model)
    engine = OnnxEngine.load(model, described, threads=1)
    return Embedder(engine, TextCodec.load(model, described))


def exact_embedder(model: Path, source: Path) -> Embedder:
    """On a built model's tokenizer and the float32 graph of its checkpoint: nothing is rounded."""
    described = manifest.read(model)
    exact = model_graph.write(Checkpoint.load(source, head=False), Float32(), None)
    onnx.helper.set_model_props(exact, {"vocabulary": str(described.vocabulary)})
    session = onnxruntime.InferenceSession(
        exact.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return Embedder(OnnxEngine(session, described), TextCodec.load(model, described))
