"""A Dense step after pooling: vectors are what numpy makes of the encoder's states."""

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from safetensors.numpy import load_file, save_file

from builder.checkpoint.hub import Source
from builder.graph import model_graph
from builder.graph.precision import Float32
from builder.model.__main__ import main
from builder.model.plan import draw_up
from fillmask.model import manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.embed import Embedder
from support import checkpoints
from support.bert_numpy import hidden_states, unit
from support.checkpoints import SMALL
from support.embed_models import CLS, MEAN, built, embedder

pytestmark = pytest.mark.usefixtures("few_sentences")

OUT: Final = 40
TEXT: Final = "a丁七!"
LINEAR: Final = "torch.nn.modules.linear.Identity"
TANH: Final = "torch.nn.modules.activation.Tanh"


def source_with(tmp_path: Path, pooling: dict[str, Any], activation: str, *, bias: bool) -> Path:
    steps = ("Dense", "Normalize")
    source = checkpoints.sentence_transformer(tmp_path / "source", pooling, steps=steps, **SMALL)
    folder = source / "2_Dense"
    folder.mkdir()
    described = {
        "in_features": SMALL["hidden"],
        "out_features": OUT,
        "bias": bias,
        "activation_function": activation,
    }
    (folder / "config.json").write_text(json.dumps(described))

    random = np.random.default_rng(2)
    tensors = {"linear.weight": random.standard_normal((OUT, SMALL["hidden"]), dtype=np.float32)}
    if bias:
        tensors["linear.bias"] = random.standard_normal(OUT, dtype=np.float32)
    save_file(tensors, folder / "model.safetensors")
    return source


def float32_embedder(model: Path, source: Path) -> Embedder:
    described = manifest.read(model)
    plan = draw_up(Source(source, "small", None), "embed")
    exact = model_graph.write(plan.checkpoint, Float32(), None)
    onnx.helper.set_model_props(exact, {"vocabulary": str(described.vocabulary)})
    session = onnxruntime.InferenceSession(
        exact.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return Embedder(OnnxEngine(session, described), TextCodec.load(model, described))


def expected(model: Path, source: Path, mode: str, activation: str) -> npt.NDArray[np.float64]:
    described = manifest.read(model)
    ids = TextCodec.load(model, described).encode(TEXT, described.lowercase).ids
    tensors = load_file(source / "model.safetensors")
    states = hidden_states(tensors, described.special.enclose(ids), heads=SMALL["heads"])

    dense = load_file(source / "2_Dense" / "model.safetensors")
    pooled = states[0] if mode == "cls" else states.mean(0)
    vector = dense["linear.weight"] @ pooled + dense.get("linear.bias", 0)
    return unit(np.tanh(vector) if activation == TANH else vector)


@pytest.mark.parametrize(
    ("mode", "activation", "bias"),
    [("mean", LINEAR, True), ("mean", LINEAR, False), ("cls", LINEAR, True), ("cls", TANH, True)],
)
def test_vectors_are_what_numpy_makes_of_them(
    tmp_path: Path, mode: str, activation: str, bias: bool
) -> None:
    source = source_with(tmp_path, CLS if mode == "cls" else MEAN, activation, bias=bias)
    model = built(source)
    assert manifest.read(model).hidden == OUT

    wanted = expected(model, source, mode, activation)
    (exact,) = float32_embedder(model, source).embed([TEXT], ["text"])
    assert np.abs(exact.vector - wanted).max() <= 1e-5

    alone, batch = (embedder(model).embed(texts, texts) for texts in ([TEXT], [TEXT, TEXT * 4]))
    assert np.dot(alone[0].vector, wanted) >= 0.995
    assert np.array_equal(alone[0].vector, batch[0].vector)


@pytest.mark.parametrize(
    ("member", "value", "says"),
    [
        ("activation_function", TANH, "asks for Tanh after mean pooling"),
        ("activation_function", "torch.nn.GELU", "asks for GELU after mean pooling"),
        ("out_features", OUT + 1, f"asks for a tensor linear.weight of ({OUT + 1}, 64)"),
        ("bias", True, "asks for a tensor linear.bias, which is not there"),
    ],
)
def test_what_would_give_other_vectors_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], member: str, value: object, says: str
) -> None:
    source = source_with(tmp_path, MEAN, LINEAR, bias=False)
    path = source / "2_Dense" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {member: value}))
    assert main([str(source), "--out", str(tmp_path / "out"), "--task", "embed"]) == 1
    assert says in capsys.readouterr().err


def test_a_matrix_for_another_width_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = source_with(tmp_path, MEAN, LINEAR, bias=False)
    folder = source / "2_Dense"
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"in_features": 32}))
    save_file({"linear.weight": np.ones((OUT, 32), np.float32)}, folder / "model.safetensors")
    assert main([str(source), "--out", str(tmp_path / "out"), "--task", "embed"]) == 1
    assert "takes vectors of 32, and the encoder's have 64" in capsys.readouterr().err
