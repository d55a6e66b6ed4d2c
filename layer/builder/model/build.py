"""Builds a model folder from a checkpoint.

    python -m builder.model.build ID_OR_DIR --out DIR [--task embed] [--revision REV] [--force]

Everything is made in a folder next to DIR and moved there at the end: an error leaves nothing
behind but that folder's parents.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from builder.checkpoint import hub
from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.hub import Source
from builder.graph import calibrate
from builder.graph.products import Float32, PairSafeInt8
from builder.model import model_folder, report
from builder.model.plan import Plan, Task, draw_up
from builder.model.progress import say
from builder.model.publish import check_place, publish
from fillmask.errors import EngineUnavailable
from fillmask.model import manifest
from fillmask.model.text import TextCodec


def main(arguments: list[str] | None = None) -> int:
    """Command line; 0, or 1 after one sentence on standard error."""
    options = _parser().parse_args(arguments)
    try:
        check_place(options.out, Path(options.source))
        source = hub.find(options.source, options.revision)
        source = source._replace(id=options.name or source.id)
        build(source, options.out, task=options.task, force=options.force)
    except (CheckpointError, EngineUnavailable, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


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
    outputs = calibrate.activations(float32, described, layers, queries)
    fits = {name: calibrate.fit(values) for name, values in outputs.items()}
    peaks = {name: fit.peak for name, fit in fits.items() if fit.peak is not None}
    say(f"{len(peaks)} of {len(fits)} LayerNorms take a constant scale")

    moved = calibrate.moved(plan.checkpoint, fits)
    return plan._replace(checkpoint=moved), PairSafeInt8(peaks)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="build.sh model", description="Build a model folder from a checkpoint."
    )
    parser.add_argument("source", help="a Hugging Face folder or a Hub id")
    parser.add_argument("--out", type=Path, default=Path(".build/model"))
    parser.add_argument(
        "--task",
        choices=["fill-mask", "embed"],
        default="fill-mask",
        help="embed: leave the masked-LM head away, or do without one (default: fill-mask, "
        "which embeds too)",
    )
    parser.add_argument("--revision", help="branch, tag or commit of a Hub id")
    parser.add_argument("--name", help="the id to write into the manifest instead of the source's")
    parser.add_argument(
        "--force", action="store_true", help="keep the result even when it disagrees with float32"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
