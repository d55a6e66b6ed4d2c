"""What comes out of a checkpoint's LayerNorms, measured in float32 on texts of every kind, and two uses of it.

`centred`: each channel of a LayerNorm's output is moved to lie around 0. LayerNorm's own shift and the biases
of what reads it take up the difference, so the function is the same and nothing is computed in addition. Real
BERTs have channels that stand at 28 where most stay within 3; left there, they alone use up most levels of INT8.

`peaks`: where one constant scale is nearly as fine as one a token, the largest magnitude it has to reach.
"""

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from builder import graph
from builder.architecture import Shape
from builder.checkpoint import Checkpoint
from builder.products import Float32
from fillmask.engine import Query
from fillmask.onnx_engine import feeds, plan_runs, session_options
from fillmask.text import TextCodec

TEXTS: Final = Path(__file__).parent / "data" / "calibration.txt"
MOST_LOSS: Final = 16.0  # error of a constant scale over that of one a token: 16 are two of the eight bits
# Both results go in coarse steps, so that another CPU, which rounds float32 differently, builds the same model.
STEP: Final = 0.5  # of a channel's move; LayerNorm's outputs have a deviation of about 1
PEAK_STEPS: Final = 16  # of a peak, an octave

Rows = Mapping[str, npt.NDArray[np.float32]]  # [tokens, hidden] by LayerNorm


class Joint(NamedTuple):
    """A LayerNorm, the products that read its output, and the one that the output is added to as the residual."""

    norm: str
    readers: tuple[str, ...]
    residual: str


def joints(shape: Shape) -> Iterator[Joint]:
    """All but the last LayerNorm, whose output is the answer."""
    before = "embeddings.LayerNorm"
    for layer in (f"encoder.layer.{index}" for index in range(shape.layers)):
        parts = tuple(f"{layer}.attention.self.{part}" for part in ("query", "key", "value"))
        yield Joint(before, parts, f"{layer}.attention.output.dense")
        yield Joint(f"{layer}.attention.output.LayerNorm", (f"{layer}.intermediate.dense",), f"{layer}.output.dense")
        before = f"{layer}.output.LayerNorm"


def queries(codec: TextCodec, lowercase: bool, special: Mapping[str, int], most: int) -> list[Query]:
    """The calibration texts, and all of them as one of `most` tokens; every position is looked at."""
    lines = TEXTS.read_text(encoding="utf-8").splitlines()
    inside = [codec.encode(line, lowercase).ids[:most - 2] for line in [*lines, "".join(lines)]]
    return [Query([special["start"], *ids, special["end"]], list(range(len(ids) + 2))) for ids in inside]


def activations(checkpoint: Checkpoint, asked: Sequence[Query], work: Path) -> Rows:
    """Outputs of the LayerNorms, in float32; the graph's files are put into `work`."""
    names = [joint.norm for joint in joints(checkpoint.shape)]
    model = graph.write(checkpoint, Float32(), None)
    model.graph.output.extend(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names)
    work.mkdir()
    onnx.save_model(model, work / "model.onnx", save_as_external_data=True, location="model.onnx.data")
    session = onnxruntime.InferenceSession(work / "model.onnx", session_options(0), providers=["CPUExecutionProvider"])
    runs = [session.run(names, feeds([asked[index] for index in run])) for run in plan_runs(asked, 10**6)]
    return {name: np.concatenate(parts) for name, parts in zip(names, zip(*runs, strict=True), strict=True)}


def centred(checkpoint: Checkpoint, rows: Rows) -> tuple[Checkpoint, Rows]:
    """The same function over LayerNorm outputs whose every channel lies around 0; and those outputs."""
    changed: ChainMap[str, npt.NDArray[np.float32]] = ChainMap({}, checkpoint.tensors)  # type: ignore[arg-type]

    def shift(name: str, by: npt.NDArray[np.float64]) -> None:
        changed[name] = (changed[name] + by).astype(np.float32)

    moved = {}
    for norm, readers, residual in joints(checkpoint.shape):
        middle = np.rint((rows[norm].min(axis=0) + rows[norm].max(axis=0)).astype(np.float64) / 2 / STEP) * STEP
        shift(f"{norm}.bias", -middle)
        for reader in readers:
            shift(f"{reader}.bias", checkpoint.tensors[f"{reader}.weight"].astype(np.float64) @ middle)
        shift(f"{residual}.bias", middle)
        moved[norm] = rows[norm] - middle.astype(np.float32)
    return checkpoint._replace(tensors=changed), moved


def peaks(rows: Rows) -> dict[str, float]:
    """Largest magnitudes, of those LayerNorms that a constant scale costs no more than MOST_LOSS."""
    found = {}
    for name, values in rows.items():
        tops = np.abs(values).max(axis=1).astype(np.float64)
        if tops.max() ** 2 <= MOST_LOSS * np.mean(tops**2):  # a step's error grows with its square
            found[name] = float(2 ** (np.ceil(np.log2(tops.max()) * PEAK_STEPS) / PEAK_STEPS))
    return found
