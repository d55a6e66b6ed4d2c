"""Checkpoint in, model folder out: model.onnx, cold.onnx, model.onnx.data, tokenizer.json, model.json.

    python -m builder.build ID_OR_DIR --out DIR [--task embed] [--revision REV] [--force]

Everything is made in a folder beside the target and moved there at the end: an error leaves nothing behind but
that folder's parents.
"""

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import onnx

from builder.checkpoint import hub, pooling, tokenizer
from builder.checkpoint import reading as checkpoint
from builder.checkpoint.pooling import Recipe
from builder.checkpoint.reading import Checkpoint, CheckpointError
from builder.checkpoint.tensors import TensorError
from builder.graph import calibrate, products
from builder.graph import encoder as graph
from builder.model import target, verify
from fillmask.errors import EngineUnavailable
from fillmask.model import manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec

LEAST_AGREEMENT = 0.95  # of first candidates
LEAST_COSINE = 0.99  # of embeddings, in the mean
DECIDES = (
    "tasks",
    "max_tokens",
    "special",
    "lowercase",
    "pooling",
)  # what of model.json an answer depends on
LEAST_PROBES = (
    0.20  # right in the first five, by float32: a random head finds none, the embedded model 80 %
)


class Plan(NamedTuple):
    """What is read of a checkpoint. With a recipe an encoder for embeddings alone is built, without the head."""

    source: hub.Source
    loaded: Checkpoint
    written: tokenizer.Written
    recipe: Recipe | None


def main(arguments: list[str] | None = None) -> int:
    """Command line; 0, or 1 after one sentence on standard error."""
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
    options = parser.parse_args(arguments)
    try:
        target.check(options.out, Path(options.source))
        source = hub.find(options.source, options.revision)
        build(
            source._replace(id=options.name or source.id),
            options.out,
            task=options.task,
            force=options.force,
        )
    except (CheckpointError, TensorError, EngineUnavailable, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def build(source: hub.Source, out: Path, *, task: str = "fill-mask", force: bool = False) -> None:
    """Convert, verify and publish; raise CheckpointError or TensorError and leave `out` as it was."""
    target.check(out, source.folder)
    say(f"reading {source.id}")
    plan = _plan(source, task)
    out.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".model-", dir=out.parent))
    try:
        ours, yardstick = work / "int8", work / "float32"
        say("writing the float32 graph")
        _write(yardstick, plan, products.Float32())
        say("calibrating")
        calibrated, how = _calibrate(yardstick, plan)
        say("writing the int8 graph")
        _write(ours, calibrated, how)
        report = _report(ours, yardstick, plan.recipe)
        refusal = _refusal(report)
        if refusal and not force:
            raise CheckpointError(f"{refusal}; --force keeps it all the same.")
        _describe(ours, report)
        target.publish(ours, out)
    finally:
        shutil.rmtree(work)
    say(
        f"done: {out}, {sum(file.stat().st_size for file in out.glob('model.onnx*')):,} bytes of model"
    )


def _plan(source: hub.Source, task: str) -> Plan:
    recipe = pooling.read(source.folder) if task == "embed" else None
    loaded = checkpoint.load(pooling.encoder_folder(source.folder), head=recipe is None)
    options = loaded.tokenizer_options
    if spare := sum(token.startswith(checkpoint.PADDING) for token in loaded.vocabulary):
        say(f"{spare} embeddings have no token in the vocabulary; they are kept and never answered")
    if recipe:
        say(
            f"pooling: {recipe.pooling['mode']}, from {recipe.report['from']}; {recipe.report['length']}"
        )
    if recipe and recipe.lowercase and not options.get("do_lower_case"):
        options = (
            {"strip_accents": False} | options | {"do_lower_case": True}
        )  # folds capitals and keeps accents
    return Plan(
        source,
        loaded,
        tokenizer.write(loaded.vocabulary, options, needs_mask=recipe is None),
        recipe,
    )


def _calibrate(yardstick: Path, plan: Plan) -> tuple[Plan, products.PairSafeInt8]:
    """The plan with a checkpoint that loses less in INT8, and how to multiply it."""
    described = manifest.read(yardstick)
    codec = TextCodec.load(yardstick, described)
    asked = calibrate.queries(codec, described.lowercase, described.special, described.max_tokens)
    outputs = calibrate.activations(yardstick, described, plan.loaded.shape.layers, asked)
    fits = {name: calibrate.fit(values) for name, values in outputs.items()}
    peaks = {name: fit.peak for name, fit in fits.items() if fit.peak is not None}
    say(f"{len(peaks)} of {len(fits)} LayerNorms take a constant scale")
    return plan._replace(loaded=calibrate.moved(plan.loaded, fits)), products.PairSafeInt8(peaks)


def _write(folder: Path, plan: Plan, how: graph.Products) -> None:
    source, loaded, written, recipe = plan
    tasks, pooled, longest = (
        (["fill-mask", "embed"], pooling.TEXT_MEAN, None)
        if recipe is None
        else (["embed"], recipe.pooling, recipe.max_tokens)
    )
    folder.mkdir()
    model = graph.write(loaded, how, None if recipe else tokenizer.allowed(loaded.vocabulary))
    onnx.helper.set_model_props(model, {"vocabulary": str(loaded.shape.vocabulary)})
    onnx.save_model(
        model,
        folder / "model.onnx",
        save_as_external_data=True,
        location="model.onnx.data",
        size_threshold=1024,
    )
    _write_cold(folder)
    (folder / "tokenizer.json").write_text(written.text, encoding="utf-8")
    described = {
        "format": manifest.FORMAT,
        "id": source.id,
        "revision": source.revision,
        "tasks": tasks,
        "vocabulary": loaded.shape.vocabulary,
        "hidden": loaded.shape.hidden,
        "layers": loaded.shape.layers,
        "max_tokens": min(loaded.shape.positions, longest or loaded.shape.positions),
        "mask_token": tokenizer.SPECIAL["mask"] if "mask" in written.special else None,
        "special": written.special,
        "lowercase": written.lowercase,
        "pooling": pooled,
        "quantisation": type(how).__name__,
        "built_with": {
            name: version(name) for name in ("onnx", "onnxruntime", "tokenizers", "numpy")
        },
    }
    _save(folder, described | _digests(folder, described))


def _write_cold(folder: Path) -> None:
    """cold.onnx: the same nodes over the same weights file, with the INT8 weights listed as inputs that have a
    default. onnxruntime packs constants alone, so its session is ready in a fifth of the time. The decoder's
    matrix stays constant: MatMulNBits without packing would multiply it in float32."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    packed_later = [
        tensor for tensor in model.graph.initializer if tensor.name.endswith(products.WEIGHT)
    ]
    model.graph.input.extend(
        onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in packed_later
    )
    (folder / "cold.onnx").write_bytes(model.SerializeToString())


def _digests(folder: Path, described: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes, and one SHA-256 over the files and DECIDES: what a cached answer is tied to."""
    digest = hashlib.sha256(
        json.dumps([described[name] for name in DECIDES], sort_keys=True).encode()
    )
    for name in manifest.FILES:
        with (folder / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return {
        "files": {name: (folder / name).stat().st_size for name in manifest.FILES},
        "digest": f"sha256:{digest.hexdigest()}",
    }


def _report(ours: Path, yardstick: Path, recipe: Recipe | None) -> dict[str, Any]:
    described = manifest.read(ours)
    codec = TextCodec.load(ours, described)
    int8, float32 = (
        OnnxEngine.load(folder, manifest.read(folder), threads=0) for folder in (ours, yardstick)
    )
    if recipe:
        say(f"comparing the embeddings of {len(verify.sentences())} sentences")
        found = {"embeddings": verify.embeddings(int8, float32, codec)}
        say(f"cosines with float32: {json.dumps(found['embeddings'])}")
        return found | {"pooling": recipe.report}
    verify.check_room(codec, described)
    queries = verify.blanks(codec, described.lowercase, described.special, described.max_tokens)
    asked = verify.probes()
    say(f"comparing on {len(queries)} blanks and {len(asked)} probes")
    agreement = verify.agreement(int8, float32, queries)
    say(f"agreement with float32: {json.dumps(agreement)}")
    probes = {
        "int8": verify.probe_report(int8, codec, asked),
        "float32": verify.probe_report(float32, codec, asked),
    }
    for name in ("float32", "int8"):
        count, top1, top5 = verify.totals(probes[name])
        say(
            f"{name}: {top1} of {count} probes right in the first candidate, {top5} in the first five"
        )
    return {"agreement": agreement, "probes": probes}


def _refusal(report: dict[str, Any]) -> str | None:
    """Why the INT8 file is not good enough, or None."""
    if "embeddings" in report:
        cosine = report["embeddings"]["mean_cosine"]
        return (
            None
            if cosine >= LEAST_COSINE
            else (
                f"INT8's embeddings have a mean cosine of {cosine:.4f} with float32's, and {LEAST_COSINE} is the least"
            )
        )
    share = report["agreement"]["top1_agreement"]
    if share < LEAST_AGREEMENT:
        return f"INT8 agrees with float32 on {share:.1%} of the blanks, and {LEAST_AGREEMENT:.0%} is the least"
    count, _, top5 = verify.totals(report["probes"]["float32"])
    return (
        None
        if top5 >= LEAST_PROBES * count
        else (
            f"The checkpoint's masked-LM head does not predict Chinese (right in the first five candidates on {top5} of "
            f"{count} probes, and {LEAST_PROBES:.0%} is the least); --task embed builds it for embeddings"
        )
    )


def _describe(folder: Path, report: dict[str, Any]) -> None:
    content = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    _save(folder, content | {"report": report})


def _save(folder: Path, content: dict[str, Any]) -> None:
    (folder / "model.json").write_text(
        json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


def say(message: str) -> None:
    """Progress, on standard error."""
    print(f"model: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
