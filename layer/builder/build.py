"""Checkpoint in, model folder out: model.onnx, model.onnx.data, tokenizer.json, model.json.

    python -m builder.build ID_OR_DIR --out DIR [--revision REV] [--force]

Everything is made in a folder beside the target and moved there at the end: an error leaves nothing behind.
"""

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import onnx

from builder import checkpoint, graph, hub, products, tokenizer, verify
from builder.checkpoint import Checkpoint, CheckpointError
from builder.tensors import TensorError
from fillmask import manifest
from fillmask.onnx_engine import OnnxEngine
from fillmask.text import TextCodec

LEAST_AGREEMENT = 0.95
KEEP = ("MODEL_CARD.md",)  # files of the target folder that a rebuild does not touch


def main(arguments: list[str] | None = None) -> int:
    """Command line; 0, or 1 after one sentence on standard error."""
    parser = argparse.ArgumentParser(prog="build.sh model", description="Build a model folder from a checkpoint.")
    parser.add_argument("source", help="a Hugging Face folder or a Hub id")
    parser.add_argument("--out", type=Path, default=Path(".build/model"))
    parser.add_argument("--revision", help="branch, tag or commit of a Hub id")
    parser.add_argument("--name", help="the id to write into the manifest instead of the source's")
    parser.add_argument("--force", action="store_true", help="keep the result even when it disagrees with float32")
    options = parser.parse_args(arguments)
    try:
        source = hub.find(options.source, options.revision)
        build(source._replace(id=options.name or source.id), options.out, force=options.force)
    except (CheckpointError, TensorError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def build(source: hub.Source, out: Path, *, force: bool = False) -> None:
    """Convert, verify and publish; raise CheckpointError or TensorError and leave `out` as it was."""
    say(f"reading {source.id}")
    loaded = checkpoint.load(source.folder)
    out.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".model-", dir=out.parent))
    try:
        ours, yardstick = work / "int8", work / "float32"
        written = tokenizer.write(loaded.vocabulary, loaded.tokenizer_options)
        for folder, how in ((ours, products.PairSafeInt8()), (yardstick, products.Float32())):
            say(f"writing the {folder.name} graph")
            _write(folder, loaded, written, how, source)
        report = _report(ours, yardstick)
        say(f"agreement with float32: {json.dumps(report['agreement'])}")
        if report["agreement"]["top1_agreement"] < LEAST_AGREEMENT and not force:
            raise CheckpointError(
                f"INT8 agrees with float32 on {report['agreement']['top1_agreement']:.1%} of the blanks, and "
                f"{LEAST_AGREEMENT:.0%} is the least; --force keeps it all the same.")
        _describe(ours, report)
        _publish(ours, out)
    finally:
        shutil.rmtree(work)
    say(f"done: {out}, {sum(file.stat().st_size for file in out.glob('model.onnx*')):,} bytes of model")


def _write(folder: Path, loaded: Checkpoint, written: tokenizer.Written, how: graph.Products,
           source: hub.Source) -> None:
    folder.mkdir()
    model = graph.write(loaded, how, tokenizer.allowed(loaded.vocabulary))
    onnx.helper.set_model_props(model, {"vocabulary": str(loaded.shape.vocabulary)})
    onnx.save_model(model, folder / "model.onnx", save_as_external_data=True, location="model.onnx.data",
                    size_threshold=1024)
    _write_cold(folder)
    (folder / "tokenizer.json").write_text(written.text, encoding="utf-8")
    _save(folder, {
        "format": manifest.FORMAT, "id": source.id, "revision": source.revision, "tasks": ["fill-mask", "embed"],
        "vocabulary": loaded.shape.vocabulary, "hidden": loaded.shape.hidden, "layers": loaded.shape.layers,
        "max_tokens": loaded.shape.positions, "mask_token": tokenizer.SPECIAL["mask"], "special": written.special,
        "lowercase": written.lowercase, "pooling": {"mode": "mean", "special_tokens": False},
        "quantisation": type(how).__name__,
        "built_with": {name: version(name) for name in ("onnx", "onnxruntime", "tokenizers", "numpy")},
        **_digests(folder),
    })


def _write_cold(folder: Path) -> None:
    """cold.onnx: the same nodes over the same weights file, with the INT8 weights listed as inputs that have a
    default. onnxruntime packs constants alone, so its session is ready in a fifth of the time. The decoder's
    matrix stays constant: MatMulNBits without packing would multiply it in float32."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    packed_later = [tensor for tensor in model.graph.initializer if tensor.name.endswith(products.WEIGHT)]
    model.graph.input.extend(
        onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims) for tensor in packed_later)
    (folder / "cold.onnx").write_bytes(model.SerializeToString())


def _digests(folder: Path) -> dict[str, Any]:
    """Sizes and one SHA-256 over the three files, in order: what a cached answer is tied to."""
    digest = hashlib.sha256()
    for name in manifest.FILES:
        with (folder / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return {"files": {name: (folder / name).stat().st_size for name in manifest.FILES},
            "digest": f"sha256:{digest.hexdigest()}"}


def _report(ours: Path, yardstick: Path) -> dict[str, Any]:
    described = manifest.read(ours)
    codec = TextCodec.load(ours, described)
    queries = verify.blanks(codec, described.lowercase, described.special, described.max_tokens)
    say(f"comparing on {len(queries)} blanks and {len(verify.probes())} probes")
    int8, float32 = (OnnxEngine.load(folder, manifest.read(folder), threads=0) for folder in (ours, yardstick))
    return {"agreement": verify.agreement(int8, float32, queries),
            "probes": {"int8": verify.probe_report(int8, codec), "float32": verify.probe_report(float32, codec)}}


def _describe(folder: Path, report: dict[str, Any]) -> None:
    content = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    _save(folder, content | {"report": report})


def _save(folder: Path, content: dict[str, Any]) -> None:
    (folder / "model.json").write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _publish(ours: Path, out: Path) -> None:
    for name in KEEP:
        if (out / name).exists():
            shutil.copy2(out / name, ours / name)
    if out.exists():
        shutil.rmtree(out)
    for path in (ours, *ours.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    ours.rename(out)


def say(message: str) -> None:
    """Progress, on standard error."""
    print(f"model: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
