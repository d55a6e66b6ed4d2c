"""What comes out of a checkpoint's LayerNorms, measured in float32 on texts of every kind, and what INT8 makes of it.

Each channel of such an output is moved to lie around 0. LayerNorm's own shift and the biases of what reads it
take up the difference, so the function is the same and nothing is computed in addition. Real BERTs have
channels that lie far from the others, and those alone would use up most levels of INT8.

Then one constant scale is enough, unless a few tokens go much further than the usual one ([CLS] at 28 in
all-MiniLM-L6-v2, where most stay within 3): such a LayerNorm keeps a scale a token.
"""

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx

from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.reading import Checkpoint
from fillmask.model.contract import HIDDEN, Query
from fillmask.model.feeds import MAX_RUN_TOKENS, plan_runs
from fillmask.model.manifest import Manifest, Special
from fillmask.model.onnx_engine import OnnxEngine, open_session, session_options
from fillmask.model.text import TextCodec

TEXTS: Final = Path(__file__).parents[1] / "data" / "calibration.txt"
MOST_LOSS: Final = (
    16.0  # error of a constant scale over the usual token's own: 16 are two of the eight bits
)
LEAST_PEAK: Final = 1e-6  # of outputs that are 0
# Both results go in coarse steps, so that another CPU, which rounds float32 differently, builds the same model.
STEP: Final = 0.5  # of a channel's move; LayerNorm's outputs have a deviation of about 1
PEAK_STEPS: Final = 16  # of a peak, an octave

Outputs = Mapping[str, npt.NDArray[np.float32]]  # [tokens, hidden] by LayerNorm


class Joint(NamedTuple):
    """A LayerNorm, the products that read its output, and the one that the output is added to as the residual."""

    norm: str
    readers: tuple[str, ...]
    residual: str


class Fit(NamedTuple):
    """How far down each channel [hidden] is moved, and the largest magnitude a constant scale has to reach, or None
    for a scale a token."""

    move: npt.NDArray[np.float64]
    peak: float | None


def joints(layers: int) -> Iterator[Joint]:
    """All but the last LayerNorm, whose output is the answer."""
    before = "embeddings.LayerNorm"
    for layer in (f"encoder.layer.{index}" for index in range(layers)):
        parts = tuple(f"{layer}.attention.self.{part}" for part in ("query", "key", "value"))
        yield Joint(before, parts, f"{layer}.attention.output.dense")
        yield Joint(
            f"{layer}.attention.output.LayerNorm",
            (f"{layer}.intermediate.dense",),
            f"{layer}.output.dense",
        )
        before = f"{layer}.output.LayerNorm"


def queries(codec: TextCodec, lowercase: bool, special: Special, most: int) -> list[Query]:
    """The calibration texts, and all of them as one of at most `most` tokens; every position is looked at."""
    lines = TEXTS.read_text(encoding="utf-8").splitlines()
    inside = [codec.encode(line, lowercase).ids[: most - 2] for line in [*lines, "".join(lines)]]
    return [Query(special.enclose(ids), list(range(len(ids) + 2))) for ids in inside]


def activations(folder: Path, described: Manifest, layers: int, asked: Sequence[Query]) -> Outputs:
    """Outputs of the LayerNorms of the float32 model in `folder`. Raises CheckpointError for a checkpoint that
    computes no numbers."""
    names = [joint.norm for joint in joints(layers)]
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    model.graph.output.extend(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names
    )
    watched = folder / "watched.onnx"  # over the same weights file
    watched.write_bytes(model.SerializeToString())
    engine = OnnxEngine(open_session(watched, session_options(0)), described)
    runs = [
        engine.run_encoder((*names, HIDDEN), [asked[index] for index in run])
        for run in plan_runs(asked, MAX_RUN_TOKENS)
    ]
    found = [np.concatenate(parts) for parts in zip(*runs, strict=True)]
    if not all(np.isfinite(values).all() for values in found):
        raise CheckpointError(
            "The checkpoint computes NaN or infinity, out of weights that are too large."
        )
    return dict(zip(names, found, strict=False))


def fit(values: npt.NDArray[np.float32]) -> Fit:
    """Outputs [tokens, hidden] of one LayerNorm are moved to the middle of their range, which a constant scale then
    covers; or around the usual token, with a scale a token, where a few tokens stretch the range too far."""
    middle = _steps((values.min(axis=0) + values.max(axis=0)) / 2)
    usual = _steps(np.median(values, axis=0))
    top = max(float(np.abs(values - middle).max()), LEAST_PEAK)
    if (
        top**2 > MOST_LOSS * float(np.median(np.abs(values - usual).max(axis=1))) ** 2
    ):  # error grows with the square
        return Fit(usual, None)
    return Fit(middle, float(2 ** (np.ceil(np.log2(top) * PEAK_STEPS) / PEAK_STEPS)))


def _steps(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    return np.asarray(np.rint(values.astype(np.float64) / STEP) * STEP)


def moved(checkpoint: Checkpoint, fits: Mapping[str, Fit]) -> Checkpoint:
    """The same function, over LayerNorm outputs that are moved down by what their fits say."""
    changed: ChainMap[str, npt.NDArray[np.float32]] = ChainMap({}, checkpoint.tensors)  # type: ignore[arg-type]

    def shift(name: str, by: npt.NDArray[np.float64]) -> None:
        changed[name] = (changed[name] + by).astype(np.float32)

    for norm, readers, residual in joints(checkpoint.shape.layers):
        move = fits[norm].move
        shift(f"{norm}.bias", -move)
        for reader in readers:
            shift(
                f"{reader}.bias", checkpoint.tensors[f"{reader}.weight"].astype(np.float64) @ move
            )
        shift(f"{residual}.bias", move)
    return checkpoint._replace(tensors=changed)
