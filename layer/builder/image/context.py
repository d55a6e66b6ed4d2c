"""What a container image is built from: the layers and the function, a server, and a Dockerfile.

.build/image/layers/...    the three layers, which go to /opt
.build/image/function      handler.py, which goes to /var/task
.build/image/server        an HTTP server, which goes to /opt/server
.build/image/Dockerfile    on AWS's base image, as AWS documents layers for images
"""

import shutil
from functools import partial
from pathlib import Path
from typing import Final

from builder.layers import bytecode, wheels
from builder.layers.assemble import Platform, parts
from builder.layers.parts import Part, copy, digest

SERVER: Final = ("uvicorn", "click", "h11")
HERE: Final = Path(__file__).parent
PLATFORMS: Final = {"x86_64": "linux/amd64", "arm64": "linux/arm64"}  # Docker's names


def image_parts(root: Path, model: Path, platform: Platform) -> list[Part]:
    """The parts of the layers, and the server's. Raises LayerError when an input is missing."""
    return [*parts(root, model, platform), _server(root / "layer" / "builder", platform)]


def _server(builder: Path, platform: Platform) -> Part:
    pins = wheels.pinned(builder / "requirements.txt")
    pins = [pin for pin in pins if pin.split("==")[0] in SERVER]
    sources = [builder / "__init__.py", *sorted((builder / "local").glob("*.py"))]
    inputs = digest(str(platform), *pins, *sources, HERE / "server.py")
    fill = partial(_fill_server, pins, sources, builder.parent, platform)
    return Part("server", "server", inputs, fill)


def _fill_server(
    pins: list[str], sources: list[Path], root: Path, platform: Platform, folder: Path
) -> None:
    wheels.fetch(pins, platform.arch, platform.python, folder)
    wheels.trim(folder, folder / "licenses")
    copy(sources, root, folder)
    shutil.copyfile(HERE / "server.py", folder / "__main__.py")
    if platform.interpreter is not None:
        bytecode.compile_tree(platform.interpreter, folder, "/opt/server")


def write_dockerfile(python: str, out: Path) -> None:
    """Puts the Dockerfile into the folder of the parts, and keeps the builder's stamps out."""
    text = (HERE / "Dockerfile").read_text("utf-8")
    wanted = text.replace("ARG PYTHON=3.13\n", f"ARG PYTHON={python}\n")
    (out / "Dockerfile").write_text(wanted, "utf-8")
    (out / ".dockerignore").write_text("stamps\n", "utf-8")


def build_command(arch: str, out: Path) -> list[str]:
    """The command that makes an image of `out`."""
    return ["docker", "build", "--platform", PLATFORMS[arch], "-t", "fillmask", str(out)]
