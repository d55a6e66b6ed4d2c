"""What GET /health and GET /info answer."""

import platform
from importlib.metadata import version
from typing import Final

from fillmask import limits
from fillmask.adapters import Answer
from fillmask.model.manifest import Manifest

VERSION: Final = "1.0.0"  # of this package
HEALTH: Final = {"ok": True}
PACKAGES: Final = ("onnxruntime", "numpy", "tokenizers", "fastapi", "mangum")
NOT_TOLD: Final = ("special", "files", "format")  # members of model.json for programs alone


def info(manifest: Manifest) -> Answer:
    """{"model", "limits", "versions"}: the manifest, each limit by its name, version numbers."""
    model = {name: value for name, value in manifest.content.items() if name not in NOT_TOLD}
    packages = {name: version(name) for name in PACKAGES}

    return {
        "model": model,
        "limits": dict(limits.TABLE),
        "versions": {"fillmask": VERSION, "python": platform.python_version(), **packages},
    }
