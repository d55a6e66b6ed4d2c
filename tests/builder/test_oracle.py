"""Our float32 graph, and the shipped INT8 model's embeddings, against numbers of transformers."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest

from builder.checkpoint import wordpiece
from builder.checkpoint.reading import Checkpoint
from builder.graph import model_graph
from builder.graph.precision import Float32
from fillmask.model.contract import TARGET_SCORES, Query
from fillmask.model.feeds import encoder_feeds, head_feeds
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.service import Service
from support.paths import CHECKPOINT, GOLDEN

TEXTS: list[str] = json.loads((GOLDEN / "texts.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def golden() -> Any:
    """Arrays made by tests/golden/make.py."""
    with np.load(GOLDEN / "golden.npz") as stored:
        return dict(stored)


@pytest.fixture(scope="module")
def float32() -> onnxruntime.InferenceSession:
    """The float32 graph of the embedded model's checkpoint, as the builder writes it."""
    checkpoint = Checkpoint.load(CHECKPOINT)
    allowed = wordpiece.allowed(checkpoint.tokenizer.tokens)
    model = model_graph.write(checkpoint, Float32(), allowed)
    assert not onnx.checker.check_model(model)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )


def log_probabilities(session: Any, query: Query, vocabulary: int) -> npt.NDArray[np.float32]:
    """[positions, vocabulary] of one query."""
    count = len(query.positions)
    head = head_feeds(count, subwords=True, k=1, targets=np.arange(vocabulary))
    found: npt.NDArray[np.float32] = session.run([TARGET_SCORES], encoder_feeds([query]) | head)[0]
    return found[:count]


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_float32_graph_equals_transformers(
    number: int,
    golden: Any,
    float32: Any,
    codec: TextCodec,
    engine: OnnxEngine,
) -> None:
    encoded = codec.encode(TEXTS[number], lowercase=True)
    query = Query(
        engine.manifest.special.enclose(encoded.ids), [mask + 1 for mask in encoded.masks]
    )
    ours = log_probabilities(float32, query, engine.manifest.vocabulary)
    assert ours.shape == golden[f"logp_{number}"].shape
    assert np.abs(ours - golden[f"logp_{number}"]).max() <= 1e-3


def test_int8_embeddings_point_where_float32_of_transformers_does(
    golden: Any, service: Service
) -> None:
    rows = service.answer("embed", {"input": TEXTS})["data"]
    cosines = [float(np.dot(row["embedding"], golden[f"embedding_{row['index']}"])) for row in rows]
    assert min(cosines) >= 0.999


@pytest.mark.oracle
def test_stored_numbers_are_what_transformers_says(golden: Any) -> None:
    pytest.importorskip(
        "transformers", reason="transformers and torch are installed for this alone"
    )
    from golden.make import make

    for name, array in make(CHECKPOINT).items():
        assert np.abs(array - golden[name]).max() <= 1e-4, name
