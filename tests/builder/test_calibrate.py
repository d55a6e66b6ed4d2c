"""Activations are moved and scaled, channel by channel, without a change of the function, and lose
less in INT8 then.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from safetensors.numpy import load_file, save_file

from builder.checkpoint import hub
from builder.checkpoint.bert import TENSORS
from builder.checkpoint.reading import Checkpoint
from builder.graph import balance, calibrate, model_graph
from builder.graph.int8 import PairSafeInt8
from builder.graph.nodes import Writer
from builder.graph.precision import Float32, Precision, Rows
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
FAR = [1, 20, 40]  # channels
WEIGHTS = np.full(64, 0.1)  # the largest magnitudes of what the channels are multiplied with
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


def activations(made: Checkpoint, folder: Path) -> calibrate.Activations:
    """What the builder measures of a checkpoint's float32 model."""
    plan = draw_up(hub.find(str(folder.parent / "source")), "fill-mask")
    model_folder.write(folder, plan._replace(checkpoint=made), Float32())
    return calibrate.activations(folder, manifest.read(folder), made.shape.layers, QUERIES)


class Scaled(Float32):
    """Float32 that divides channels as INT8 does."""

    def __init__(self, scales: Mapping[str, npt.NDArray[np.float64]]) -> None:
        self.scales = scales

    def prepare(self, w: Writer, x: str, *, floor: float | None = None) -> Rows:
        if x not in self.scales:
            return Rows(x)
        factors = (1 / self.scales[x]).astype(np.float32)
        return Rows(w.op("Mul", x, w.constant(f"{x}.factors", factors)))


def precision(fits: Mapping[str, balance.NormFit]) -> PairSafeInt8:
    """As the builder makes it."""
    peaks = {name: fit.peak for name, fit in fits.items() if fit.peak}
    return PairSafeInt8(peaks, {name: fit.scale for name, fit in fits.items()})


def unlike(one: npt.NDArray[np.float32], other: npt.NDArray[np.float32]) -> float:
    """The mean distance, over the deviation."""
    rest = [channel for channel in range(one.shape[1]) if channel != STANDING]
    return float(np.abs(one - other)[:, rest].mean() / other[:, rest].std())


def test_balancing_changes_no_answer_and_spares_the_levels(
    source: Checkpoint, tmp_path: Path
) -> None:
    measured = activations(source, tmp_path / "before")
    assert len(measured.norms) == 2 * SHAPE["layers"]
    assert len(measured.contexts) == SHAPE["layers"]
    assert all(np.abs(values).max() > 30 for values in measured.norms.values())

    balanced, fits = balance.balance(source, measured)
    exact = hidden(source, Float32())
    scaled = Scaled({name: fit.scale for name, fit in fits.items()})
    assert np.abs(hidden(balanced, scaled) - exact).max() < 2e-4

    for name, values in measured.norms.items():
        reached = np.abs((values - fits[name].move) / fits[name].scale).max()
        assert reached <= (fits[name].peak or 0) < 1.1 * reached

    spoilt = unlike(hidden(source, PairSafeInt8(dict.fromkeys(measured.norms, 45.0))), exact)
    assert unlike(hidden(balanced, precision(fits)), exact) < spoilt / 2


def heard(source: Checkpoint) -> Checkpoint:
    """The same with an attention whose output counts beside the residual."""
    tensors = {name: tensor.copy() for name, tensor in source.tensors.items()}
    for index in range(SHAPE["layers"]):
        tensors[f"{TENSORS.of_layer(index).attention_output}.weight"] *= 30
    return source._replace(tensors=tensors)


def test_channels_of_a_context_that_reach_far_cost_the_others_nothing(
    source: Checkpoint, tmp_path: Path
) -> None:
    """Three channels of the values 20 times as large, which the product after them takes back."""
    usual = heard(source)
    tensors = {name: tensor.copy() for name, tensor in usual.tensors.items()}
    for index in range(SHAPE["layers"]):
        names = TENSORS.of_layer(index)
        for part in ("weight", "bias"):
            tensors[f"{names.value}.{part}"][FAR] *= 20
        tensors[f"{names.attention_output}.weight"][:, FAR] /= 20
    outlying = usual._replace(tensors=tensors)
    exact = hidden(usual, Float32())
    assert np.abs(hidden(outlying, Float32()) - exact).max() < 2e-4

    kept = []
    for number, made in enumerate((usual, outlying)):
        balanced, fits = balance.balance(made, activations(made, tmp_path / str(number)))
        kept.append(unlike(hidden(balanced, precision(fits)), exact))
    plain = [unlike(hidden(made, PairSafeInt8({})), exact) for made in (usual, outlying)]
    assert plain[1] > 1.2 * plain[0], "without balance they cost much"
    assert kept[1] < 1.05 * kept[0]


def test_a_constant_scale_is_for_tokens_of_like_size() -> None:
    like = np.random.default_rng(3).standard_normal((200, 64)).astype(np.float32)
    move, scale, peak = balance.fit_norm(like, WEIGHTS)
    assert peak is not None
    assert 1 <= peak / np.abs((like - move) / scale).max() < 2 ** (1 / balance.PEAK_STEPS)

    standing = like + np.where(np.arange(64) == STANDING, 28, 0).astype(np.float32)
    assert balance.fit_norm(standing, WEIGHTS).peak == peak

    few = like.copy()
    few[::25] *= 9  # one token in 25, in all channels
    assert balance.fit_norm(few, WEIGHTS).peak is None


def test_a_channel_in_which_few_tokens_stand_far_is_scaled_alone() -> None:
    """As that of [CLS] in all-MiniLM-L6-v2: the move must be the others'."""
    like = np.random.default_rng(3).standard_normal((200, 64)).astype(np.float32)
    usual = balance.fit_norm(like, WEIGHTS)
    few = like.copy()
    few[::25, STANDING] = 28
    move, scale, peak = balance.fit_norm(few, WEIGHTS)
    assert np.median(np.abs(few - move).max(axis=1)) < 1.1 * np.median(np.abs(like).max(axis=1))
    assert scale[STANDING] > 3 * usual.scale[STANDING]
    assert peak is not None
    assert usual.peak is not None
    assert peak < 3 * usual.peak


def test_outputs_of_0_have_a_scale() -> None:
    nothing = balance.fit_norm(np.full((9, 4), 0.5, np.float32), np.zeros(4))
    assert nothing.peak is not None
    assert nothing.peak > 0
    assert (nothing.scale > 0).all()
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
