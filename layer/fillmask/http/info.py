"""The answer of GET /info."""

import platform
from importlib.metadata import version
from typing import Any, Final

from fillmask import VERSION, limits
from fillmask.model.manifest import Manifest

PACKAGES: Final = ("onnxruntime", "numpy", "tokenizers", "fastapi", "mangum")
NOT_TOLD: Final = ("special", "files", "format")  # members of model.json for programs alone


def info(manifest: Manifest) -> dict[str, Any]:
    """The model's manifest, the limits and the versions in use."""
    told = {name: value for name, value in manifest.content.items() if name not in NOT_TOLD}
    return {
        "model": told,
        "limits": dict(limits.TABLE),
        "versions": {
            "fillmask": VERSION,
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
    }
