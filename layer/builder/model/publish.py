"""The folder a model is put in: what must not be replaced there, and the replacing itself."""

import json
import shutil
from pathlib import Path
from typing import Final

from builder.checkpoint.errors import CheckpointError

KEPT: Final = ("MODEL_CARD.md",)  # files that a rebuild of the same model does not touch


def check_place(out: Path, source: Path) -> None:
    """Raises CheckpointError unless `out` is free for a model or holds an earlier one of ours."""
    place, here = out.resolve(), Path.cwd()
    if source.exists() and source.resolve().is_relative_to(place):
        raise CheckpointError(
            f"{out} is the checkpoint's folder or holds it, and would be replaced."
        )
    if here.is_relative_to(place):
        raise CheckpointError(f"{out} is the current folder or holds it, and would be replaced.")
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise CheckpointError(f"{out} is not a folder.")
    if out.is_dir() and any(out.iterdir()) and not (out / "model.json").is_file():
        raise CheckpointError(
            f"{out} holds something other than a model (it has no model.json), and would be "
            "replaced."
        )


def publish(made: Path, out: Path) -> None:
    """Moves the folder `made` to `out`, in place of what is there."""
    if out.exists() and _id(out) == _id(made):
        for name in KEPT:
            if (out / name).exists():
                shutil.copy2(out / name, made / name)
    if out.exists():
        shutil.rmtree(out)

    # A temporary folder is the builder's alone; layers are read by another user.
    made.chmod(0o755)
    for path in made.iterdir():
        path.chmod(0o755 if path.is_dir() else 0o644)
    made.rename(out)


def _id(folder: Path) -> object:
    """The id of the model in a folder, or None where there is none."""
    try:
        content = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content.get("id") if isinstance(content, dict) else None
