"""Writes a model folder: model.onnx, cold.onnx, model.onnx.data, tokenizer.json, model.json."""

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import onnx

from builder.checkpoint import wordpiece
from builder.graph import int8, model_graph
from builder.graph.precision import Precision
from builder.model.plan import Plan
from fillmask.model import manifest

BUILT_WITH: Final = ("onnx", "onnxruntime", "tokenizers", "numpy")
# The members of model.json that an answer depends on.
DECISIVE: Final = ("tasks", "max_tokens", "special", "lowercase", "pooling")
LEAST_EXTERNAL: Final = 1024  # bytes of a tensor that lies in model.onnx.data


def write(folder: Path, plan: Plan, precision: Precision) -> None:
    """Makes the folder, whose model.json has no report yet."""
    folder.mkdir()
    _write_graph(folder, plan, precision)
    _write_cold_graph(folder)
    (folder / "tokenizer.json").write_text(plan.tokenizer.json, encoding="utf-8")

    described = _description(plan, precision)
    sizes = {name: (folder / name).stat().st_size for name in manifest.FILES}
    _save(folder, described | {"files": sizes, "digest": _digest(folder, described)})


def add_report(folder: Path, report: Mapping[str, Any]) -> None:
    """Adds the comparison with float32 to model.json."""
    content = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    _save(folder, content | {"report": report})


def _write_graph(folder: Path, plan: Plan, precision: Precision) -> None:
    """model.onnx, and the weights it refers to."""
    checkpoint = plan.checkpoint
    allowed = None if plan.recipe else wordpiece.allowed(checkpoint.tokenizer.tokens)
    model = model_graph.write(checkpoint, precision, allowed)
    onnx.helper.set_model_props(model, {"vocabulary": str(checkpoint.shape.vocabulary)})

    onnx.save_model(
        model,
        folder / "model.onnx",
        save_as_external_data=True,
        location="model.onnx.data",
        size_threshold=LEAST_EXTERNAL,
    )


def _write_cold_graph(folder: Path) -> None:
    """cold.onnx: the same nodes over the same weights, ready in a fifth of the time.

    onnxruntime packs constants alone, so the INT8 weights are listed as inputs that have a default.
    The decoder's matrix stays constant: MatMulNBits without packing would multiply it in float32.
    """
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    model.graph.input.extend(
        onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in model.graph.initializer
        if tensor.name.endswith(int8.WEIGHT)
    )
    (folder / "cold.onnx").write_bytes(model.SerializeToString())


def _description(plan: Plan, precision: Precision) -> dict[str, Any]:
    """The members of model.json that are known before anything is written."""
    shape, tokenizer = plan.checkpoint.shape, plan.tokenizer
    special = tokenizer.special._asdict()
    known = {role: token for role, token in special.items() if token != manifest.NO_TOKEN}
    return {
        "format": manifest.FORMAT,
        "id": plan.source.id,
        "revision": plan.source.revision,
        "tasks": plan.tasks,
        "vocabulary": shape.vocabulary,
        "hidden": plan.checkpoint.dimensions,
        "layers": shape.layers,
        "max_tokens": plan.max_tokens,
        "mask_token": wordpiece.MASK if "mask" in known else None,
        "special": known,
        "lowercase": tokenizer.lowercase,
        "pooling": plan.pooling._asdict(),
        "quantisation": type(precision).__name__,
        "built_with": {name: version(name) for name in BUILT_WITH},
    }


def _digest(folder: Path, described: Mapping[str, Any]) -> str:
    """One SHA-256 of the files and of what decides an answer, which a cached answer is tied to."""
    decisive = [described[name] for name in DECISIVE]
    digest = hashlib.sha256(json.dumps(decisive, sort_keys=True).encode())
    for name in manifest.FILES:
        with (folder / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"sha256:{digest.hexdigest()}"


def _save(folder: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    (folder / "model.json").write_text(text, encoding="utf-8")
