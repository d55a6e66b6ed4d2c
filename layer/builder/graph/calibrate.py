"""What INT8 can make of a checkpoint's LayerNorm outputs, measured in float32 on varied texts.

Each channel of such an output is moved to lie around 0. LayerNorm's own shift and the biases of
what reads the output compensate for that, so the function is the same and nothing is computed in
addition. Real BERTs have channels that lie far from the others, and those alone would use up most
levels of INT8.

One constant scale is then enough, unless a few tokens go much further than the usual one ([CLS] at
28 in all-MiniLM-L6-v2, where most stay within 3): such a LayerNorm keeps a scale per token.
"""

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx

from builder.checkpoint.bert import TENSORS
from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.reading import Checkpoint
from builder.checkpoint.tensors import Array
from fillmask.model.contract import HIDDEN, Query
from fillmask.model.feeds import MAX_RUN_TOKENS, plan_runs
from fillmask.model.manifest import Manifest, Special
from fillmask.model.onnx_engine import OnnxEngine, open_session, session_options
from fillmask.model.text import TextCodec

TEXTS: Final = Path(__file__).parents[1] / "data" / "calibration.txt"
# The most that a constant scale's error may exceed that of the usual token's own scale: two of the
# eight bits.
MOST_LOSS: Final = 16.0
LEAST_PEAK: Final = 1e-6  # of outputs that are 0
# Both results are rounded coarsely, so that another CPU, whose float32 differs slightly, builds the
# same model.
STEP: Final = 0.5  # of a channel's move; LayerNorm's outputs have a deviation of about 1
PEAK_STEPS: Final = 16  # of a peak, per octave

Outputs = Mapping[str, npt.NDArray[np.float32]]  # [tokens, hidden] by LayerNorm


class NormOutput(NamedTuple):
    """A LayerNorm, the linear layers that read its output, and the one whose output it is added to
    as residual.
    """

    norm: str
    readers: tuple[str, ...]
    residual: str


class Fit(NamedTuple):
    """How far each channel [hidden] is moved down, and the largest magnitude a constant scale has
    to reach, or None for a scale per token.
    """

    move: npt.NDArray[np.float64]
    peak: float | None


def norm_outputs(layers: int) -> Iterator[NormOutput]:
    """Those of all LayerNorms but the last, whose output is the answer."""
    norm = TENSORS.embeddings_norm
    for index in range(layers):
        names = TENSORS.of_layer(index)
        yield NormOutput(norm, (names.query, names.key, names.value), names.attention_output)
        yield NormOutput(names.attention_norm, (names.intermediate,), names.output)
        norm = names.output_norm


def queries(codec: TextCodec, lowercase: bool, special: Special, max_tokens: int) -> list[Query]:
    """The calibration texts and all of them as one, each cut to `max_tokens`; every position is
    looked at.
    """
    lines = TEXTS.read_text(encoding="utf-8").splitlines()
    found = []
    for text in [*lines, "".join(lines)]:
        # The ranges have to cover the token for unknown words too.
        encoded = codec.encode(text, lowercase, split_unknown=False)
        inner = encoded.ids[: max_tokens - 2]
        ids = special.enclose(inner)
        found.append(Query(ids, list(range(len(ids)))))
    return found


def activations(folder: Path, manifest: Manifest, layers: int, queries: Sequence[Query]) -> Outputs:
    """Outputs of the LayerNorms of the float32 model in `folder`. Raises CheckpointError for a
    checkpoint that computes NaN or infinity.
    """
    names = [output.norm for output in norm_outputs(layers)]
    engine = OnnxEngine(open_session(_watched(folder, names), session_options(0)), manifest)

    # `hidden` is run along with them, so that the last layer counts in the check.
    outputs = [*names, HIDDEN]
    runs = [
        engine.run_encoder(outputs, [queries[index] for index in run])
        for run in plan_runs(queries, MAX_RUN_TOKENS)
    ]
    by_output = zip(outputs, zip(*runs, strict=True), strict=True)
    found = {name: np.concatenate(pieces) for name, pieces in by_output}

    if not all(np.isfinite(values).all() for values in found.values()):
        raise CheckpointError("The checkpoint computes NaN or infinity: its weights are too large.")
    del found[HIDDEN]
    return found


def _watched(folder: Path, names: Sequence[str]) -> Path:
    """The model of `folder`, over the same weights file, with these tensors as further outputs."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    model.graph.output.extend(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names
    )
    path = folder / "watched.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def fit(values: npt.NDArray[np.float32]) -> Fit:
    """How outputs [tokens, hidden] of one LayerNorm are best quantised.

    They are moved to the middle of their range, which a constant scale then covers; or around the
    usual token, with a scale per token, where a few tokens stretch the range too far.
    """
    middle = _rounded((values.min(axis=0) + values.max(axis=0)) / 2)
    usual = _rounded(np.median(values, axis=0))

    top = max(float(np.abs(values - middle).max()), LEAST_PEAK)
    usual_top = float(np.median(np.abs(values - usual).max(axis=1)))
    if top**2 > MOST_LOSS * usual_top**2:  # the error grows with the square
        return Fit(usual, None)

    octaves = np.ceil(np.log2(top) * PEAK_STEPS) / PEAK_STEPS
    return Fit(middle, float(2**octaves))


def _rounded(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    return np.asarray(np.rint(values.astype(np.float64) / STEP) * STEP)


def moved(checkpoint: Checkpoint, fits: Mapping[str, Fit]) -> Checkpoint:
    """The same function, over LayerNorm outputs that are moved down by what their fits say."""
    changed: dict[str, Array] = {}
    tensors = ChainMap(changed, checkpoint.tensors)  # type: ignore[arg-type]  # which is only read

    def shift(name: str, by: npt.NDArray[np.float64]) -> None:
        changed[name] = (tensors[name] + by).astype(np.float32)

    for norm, readers, residual in norm_outputs(checkpoint.shape.layers):
        move = fits[norm].move
        shift(f"{norm}.bias", -move)

        # Whatever is computed from the moved output gets back what was taken.
        for reader in readers:
            weight = checkpoint.tensors[f"{reader}.weight"].astype(np.float64)
            shift(f"{reader}.bias", weight @ move)
        shift(f"{residual}.bias", move)
    return checkpoint._replace(tensors=tensors)
