"""The JSON files of a checkpoint, which anyone may have written."""

import json
from pathlib import Path
from typing import Any

from builder.checkpoint.errors import CheckpointError


def read_object(path: Path) -> dict[str, Any]:
    """The object in a file; raises CheckpointError where there is no file or no object in it."""
    value = _read(path)
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} does not hold a JSON object.")
    return value


def read_object_if_any(path: Path) -> dict[str, Any]:
    """The same, and an empty object where there is no such file."""
    return read_object(path) if path.exists() else {}


def read_list(path: Path) -> list[Any]:
    """The list in a file; raises CheckpointError where there is no file or no list in it."""
    value = _read(path)
    if not isinstance(value, list):
        raise CheckpointError(f"{path} does not hold a JSON list.")
    return value


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{path.parent} has no {path.name}.") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is not JSON: {error}.") from None
