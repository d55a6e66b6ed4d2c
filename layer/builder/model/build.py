"""Builds a model folder from a checkpoint.

Everything is made in a folder next to its place and moved there at the end: an error leaves nothing
behind but that folder's parents.
"""

import shutil
import tempfile
from pathlib import Path

from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.hub import Source
from builder.graph import calibrate
from builder.graph.balance import balance
from builder.graph.int8 import PairSafeInt8
from builder.graph.precision import Float32
from builder.model import model_folder, report
from builder.model.plan import Plan, Task, draw_up
from builder.model.progress import say
from builder.model.publish import check_place, publish
from fillmask.model import manifest
from fillmask.model.text import TextCodec


def build(source: Source, out: Path, *, task: Task = "fill-mask", force: bool = False) -> None:
    """Converts a checkpoint, compares the result with float32 and puts it at `out`.

    Raises CheckpointError and leaves `out` as it was where the checkpoint cannot be built, and,
    unless `force`, where the result is not good enough.
    """
    check_place(out, source.folder)
    say(f"reading {source.id}")
    plan = draw_up(source, task)

    out.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".model-", dir=out.parent))
    try:
        publish(_make(work, plan, force=force), out)
    finally:
        shutil.rmtree(work)

    size = sum(file.stat().st_size for file in out.glob("model.onnx*"))
    say(f"done: {out}, {size:,} bytes of model")


def _make(work: Path, plan: Plan, *, force: bool) -> Path:
    """The finished model folder, inside `work`."""
    float32, int8 = work / "float32", work / "int8"
    say("writing the float32 graph")
    model_folder.write(float32, plan, Float32())
    if not force and (fault := report.check_head(float32, plan)):
        raise CheckpointError(f"{fault}; --force keeps it anyway.")

    say("calibrating")
    calibrated, precision = _calibrate(float32, plan)
    say("writing the int8 graph")
    model_folder.write(int8, calibrated, precision)

    found = report.compare(int8, float32, plan)
    if found.fault and not force:
        raise CheckpointError(f"{found.fault}; --force keeps it anyway.")
    model_folder.add_report(int8, report.to_json(found))
    return int8


def _calibrate(float32: Path, plan: Plan) -> tuple[Plan, PairSafeInt8]:
    """The plan with a checkpoint that loses less in INT8, and the precision to write it in."""
    described = manifest.read(float32)
    codec = TextCodec.load(float32, described)
    queries = calibrate.queries(codec, described.lowercase, described.special, described.max_tokens)

    layers = plan.checkpoint.shape.layers
    measured = calibrate.activations(float32, described, layers, queries)
    checkpoint, fits = balance(plan.checkpoint, measured)
    peaks = {name: fit.peak for name, fit in fits.items() if fit.peak is not None}
    scales = {name: fit.scale for name, fit in fits.items()}
    say(f"{len(peaks)} of {len(fits)} LayerNorms take a constant scale")

    return plan._replace(checkpoint=checkpoint), PairSafeInt8(peaks, scales)
