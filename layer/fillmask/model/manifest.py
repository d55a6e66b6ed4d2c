"""model.json, the contract of a model folder: what the builder wrote and the engine relies on."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from fillmask.errors import EngineUnavailable

FORMAT = 1  # of the folder; a builder that changes the graph's inputs raises it
FILES = ("model.onnx", "cold.onnx", "model.onnx.data", "tokenizer.json")


class Manifest(NamedTuple):
    """What the run-time half needs to know of a model; `content` is the whole file, for GET /info."""

    id: str
    digest: str
    tasks: tuple[str, ...]
    vocabulary: int
    max_tokens: int
    hidden: int
    mask_token: str  # empty where the vocabulary of an encoder for embeddings has none
    special: dict[str, int]
    lowercase: bool
    pooling: dict[
        str, Any
    ]  # mode "mean" or "cls"; special_tokens: whether a mean counts [CLS] and [SEP]
    content: dict[str, Any]


def read(folder: Path) -> Manifest:
    """Read and check model.json; raise EngineUnavailable in one sentence that names file and folder."""
    path = folder / "model.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EngineUnavailable(f"There is no model.json in {folder}.") from None
    except ValueError:
        raise EngineUnavailable(f"{path} is not JSON.") from None
    if not isinstance(content, dict):
        raise EngineUnavailable(f"{path} is not a JSON object.")
    if content.get("format") != FORMAT:
        raise EngineUnavailable(
            f"{path} has format {content.get('format')!r}, and this package reads {FORMAT}."
        )
    try:
        described = _manifest(content)
    except KeyError as error:
        raise EngineUnavailable(f"{path} has no {error.args[0]!r}.") from None
    for name, size in content["files"].items():
        if not (folder / name).exists() or (folder / name).stat().st_size != size:
            raise EngineUnavailable(
                f"{folder / name} is missing or does not have the {size} bytes {path.name} says."
            )
    return described


def _manifest(content: dict[str, Any]) -> Manifest:
    return Manifest(
        id=content["id"],
        digest=content["digest"],
        tasks=tuple(content["tasks"]),
        vocabulary=content["vocabulary"],
        max_tokens=content["max_tokens"],
        hidden=content["hidden"],
        mask_token=content["mask_token"] or "",
        special=content["special"],
        lowercase=content["lowercase"],
        pooling=content["pooling"],
        content=content,
    )
