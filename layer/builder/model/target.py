"""The folder a model is put in: what must not be replaced there, and the replacing itself."""

import json
import shutil
from pathlib import Path

from builder.checkpoint.reading import CheckpointError

KEEP = ("MODEL_CARD.md",)  # files that a rebuild of the same model does not touch


def check(out: Path, source: Path) -> None:
    """Raise CheckpointError when `out` is anything but a place for a new model or an earlier model of ours."""
    whole, here = out.resolve(), Path.cwd()
    if source.exists() and source.resolve().is_relative_to(whole):
        raise CheckpointError(
            f"{out} is the checkpoint's folder or holds it, and would be replaced."
        )
    if here.is_relative_to(whole):
        raise CheckpointError(f"{out} is the current folder or holds it, and would be replaced.")
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise CheckpointError(f"{out} is not a folder.")
    if out.is_dir() and any(out.iterdir()) and not (out / "model.json").is_file():
        raise CheckpointError(
            f"{out} holds other things than a model (it has no model.json), and would be replaced."
        )


def publish(ours: Path, out: Path) -> None:
    """Put the folder `ours` in the place of `out`."""
    if out.exists() and _id(out) == _id(ours):
        for name in KEEP:
            if (out / name).exists():
                shutil.copy2(out / name, ours / name)
    if out.exists():
        shutil.rmtree(out)
    for path in (ours, *ours.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    ours.rename(out)


def _id(folder: Path) -> object:
    try:
        content = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content.get("id") if isinstance(content, dict) else None
