"""LayerNorm outputs are moved and take a constant scale without a change of the function or of its
accuracy.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from safetensors.numpy import load_file, save_file

from builder.checkpoint import hub
from builder.checkpoint.reading import Checkpoint
from builder.graph import calibrate, model_graph
from builder.graph.int8 import PairSafeInt8
from builder.graph.precision import Float32, Precision
from builder.model import model_folder
from builder.model.plan import draw_up
from fillmask.model import manifest
from fillmask.model.contract import HIDDEN, Query
from fillmask.model.feeds import encoder_feeds
from support import checkpoints
from support.paths import CHECKPOINT, MODEL

SHAPE: dict[str, Any] = {
    "hidden": 64,
    "layers": 3,
    "heads": 4,
    "ffn": 128,
    "positions": 32,
    "size": 300,
}
STANDING = 7  # the channel that stands far from all others, as real BERTs have one
IDS = np.random.default_rng(2).integers(5, 300, (12, 24))
QUERIES = [Query(row.tolist(), list(range(len(row)))) for row in IDS]


@pytest.fixture
def source(tmp_path: Path) -> Checkpoint:
    """A small checkpoint in which one channel of every LayerNorm stands at 40."""
    folder = checkpoints.write(tmp_path / "source", **SHAPE)
    tensors = load_file(folder / "model.safetensors")
    for name, tensor in tensors.items():
        if name.endswith("LayerNorm.beta") and name.startswith("bert."):
            tensor[STANDING] = 40
    save_file(tensors, folder / "model.safetensors")
    return Checkpoint.load(folder)


def hidden(made: Checkpoint, how: Precision) -> npt.NDArray[np.float32]:
    model = model_graph.write(made, how, None).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return np.asarray(session.run([HIDDEN], encoder_feeds(QUERIES))[0])


def activations(made: Checkpoint, folder: Path) -> calibrate.Outputs:
    """What the builder measures of a checkpoint's float32 model."""
    plan = draw_up(hub.find(str(folder.parent / "source")), "fill-mask")
    model_folder.write(folder, plan._replace(checkpoint=made), Float32())
    return calibrate.activations(folder, manifest.read(folder), made.shape.layers, QUERIES)


def unlike(one: npt.NDArray[np.float32], other: npt.NDArray[np.float32]) -> float:
    """The mean distance, over the deviation."""
    rest = [channel for channel in range(one.shape[1]) if channel != STANDING]
    return float(np.abs(one - other)[:, rest].mean() / other[:, rest].std())


def test_moving_changes_no_answer_and_spares_the_levels(source: Checkpoint, tmp_path: Path) -> None:
    outputs = activations(source, tmp_path / "before")
    assert len(outputs) == 2 * SHAPE["layers"]
    assert all(np.abs(values).max() > 30 for values in outputs.values())
    fits = {name: calibrate.fit(values) for name, values in outputs.items()}
    assert all(fit.peak and fit.peak < 6 for fit in fits.values())
    moved = calibrate.moved(source, fits)
    exact = hidden(source, Float32())
    assert np.abs(hidden(moved, Float32()) - exact).max() < 2e-4
    for name, values in activations(moved, tmp_path / "after").items():
        assert np.abs(values - (outputs[name] - fits[name].move)).max() < 2e-4
        assert np.abs(values).max() <= (fits[name].peak or 0)
    spoilt = unlike(hidden(source, PairSafeInt8(dict.fromkeys(outputs, 45.0))), exact)
    peaks = {name: fit.peak for name, fit in fits.items() if fit.peak}
    assert unlike(hidden(moved, PairSafeInt8(peaks)), exact) < spoilt / 2


def test_a_constant_scale_is_for_tokens_of_like_size() -> None:
    like = np.random.default_rng(3).standard_normal((200, 64)).astype(np.float32)
    usual = float(np.median(np.abs(like).max(axis=1)))
    move, peak = calibrate.fit(like)
    assert peak is not None
    assert 1 <= peak / np.abs(like - move).max() < 2 ** (1 / calibrate.PEAK_STEPS)
    standing = like + np.where(np.arange(64) == STANDING, 28, 0).astype(np.float32)
    assert calibrate.fit(standing).peak == peak
    few = like.copy()
    few[::25, STANDING] = (
        28  # one token in 25, as [CLS] in all-MiniLM-L6-v2: the move must be the others'
    )
    move, none = calibrate.fit(few)
    assert none is None
    assert np.median(np.abs(few - move).max(axis=1)) < 1.1 * usual


def test_outputs_of_0_have_a_scale() -> None:
    nothing = calibrate.fit(np.full((9, 4), 0.5, np.float32))
    assert nothing.peak is None or nothing.peak > 0
    assert (nothing.move == 0.5).all()


def test_either_way_of_scaling_is_in_the_graph(source: Checkpoint) -> None:
    constant = ["embeddings.LayerNorm", "encoder.layer.1.attention.output.LayerNorm"]
    model = model_graph.write(source, PairSafeInt8(dict.fromkeys(constant, 6.0)), None)
    onnx.checker.check_model(model)
    kinds = Counter(node.op_type for node in model.graph.node)
    quantised = 4 * SHAPE["layers"]
    assert kinds["QuantizeLinear"] == quantised
    assert kinds["ReduceMax"] == kinds["Div"] == quantised - len(constant)
    exact = hidden(source, Float32())
    assert unlike(hidden(source, PairSafeInt8({})), exact) < 0.5


def test_values_beyond_the_peak_saturate(source: Checkpoint) -> None:
    """Texts may go further than the calibration's: what is cut off costs a little, and never wraps
    around.
    """
    names = [output.norm for output in calibrate.norm_outputs(source.shape.layers)]
    exact = hidden(source, Float32())
    costs = [
        unlike(hidden(source, PairSafeInt8(dict.fromkeys(names, peak))), exact)
        for peak in (39.0, 20.0)
    ]
    assert costs[0] < 0.5
    assert costs[1] > costs[0]
    assert np.isfinite(costs).all()


def test_the_embedded_model_has_constant_scales_alone_where_a_layernorm_feeds() -> None:
    model = onnx.load(MODEL / "model.onnx", load_external_data=False)
    steps = {
        tensor.name for tensor in model.graph.initializer if tensor.name.endswith("LayerNorm.step")
    }
    shape = Checkpoint.load(CHECKPOINT).shape
    assert steps == {f"{output.norm}.step" for output in calibrate.norm_outputs(shape.layers)}
