"""What template.yaml deploys, three layers and the function, and what each is made from.

    .build/layers/runtime    python/...              requirements.txt, by wheels.py
    .build/layers/model      model/...               the INT8 file, its tokenizer and manifest
    .build/layers/code       python/fillmask/...     the run-time package
    .build/function          handler.py

Lambda lays the layers over each other at /opt and the function at /var/task. Nothing is uploaded
here.
"""

from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from builder.layers import bytecode, wheels
from builder.layers.parts import Part, copy, digest, package_digest
from builder.layers.wheels import LayerError
from fillmask.model.manifest import FILES

ROOT: Final = Path(__file__).parents[3]
DEFAULT_ARCH: Final = "x86_64"
DEFAULT_PYTHON: Final = "3.13"
MODEL_FILES: Final = (*FILES, "model.json")


class Platform(NamedTuple):
    """What the layers are for; without an interpreter of that version there is no bytecode."""

    arch: str
    python: str
    interpreter: bytecode.Interpreter | None

    def __str__(self) -> str:
        release = self.interpreter.release if self.interpreter else "without bytecode"
        return f"{self.arch} {self.python} {release}"


def parts(root: Path, model: Path, platform: Platform) -> list[Part]:
    """The four parts, in the order of the table. Raises LayerError when an input is missing."""
    rules = package_digest(Path(__file__).parent)  # a change of the assembling rebuilds everything
    return [
        _runtime(root / "requirements.txt", platform, rules),
        _model(model, rules),
        _code(root / "layer" / "fillmask", platform, rules),
        _function(root / "handler.py", platform, rules),
    ]


def default_model() -> Path:
    """The folder of the model that was built last, or else of the embedded one."""
    built = ROOT / ".build" / "model"
    return built if (built / "model.json").is_file() else ROOT / "layer" / "model"


def _runtime(requirements: Path, platform: Platform, rules: str) -> Part:
    pins = wheels.pinned(requirements)
    inputs = digest(rules, str(platform), *pins)
    return Part("runtime", "layers/runtime", inputs, partial(_fill_runtime, pins, platform))


def _model(model: Path, rules: str) -> Part:
    missing = [name for name in MODEL_FILES if not (model / name).is_file()]
    if missing:
        raise LayerError(f"{model} is not a built model: {', '.join(missing)} missing.")

    files = [model / name for name in MODEL_FILES] + sorted(model.glob("*.md"))
    return Part("model", "layers/model", digest(rules, *files), partial(_fill_model, files, model))


def _code(package: Path, platform: Platform, rules: str) -> Part:
    files = [path for path in sorted(package.rglob("*")) if path.is_file()]
    files = [path for path in files if _ships(path.relative_to(package))]

    names = [str(path.relative_to(package)) for path in files]
    inputs = digest(rules, str(platform), *names, *files)
    return Part("code", "layers/code", inputs, partial(_fill_code, files, package, platform))


def _function(handler: Path, platform: Platform, rules: str) -> Part:
    if not handler.is_file():
        raise LayerError(f"{handler} is missing.")
    inputs = digest(rules, str(platform), handler)
    return Part("function", "function", inputs, partial(_fill_function, handler, platform))


def _ships(path: Path) -> bool:
    return not any(name == "__pycache__" or name.startswith(".") for name in path.parts)


def _fill_runtime(pins: list[str], platform: Platform, folder: Path) -> None:
    print(
        f"runtime: fetching {len(pins)} packages for Python {platform.python} on {platform.arch}",
        flush=True,
    )
    python = folder / "python"
    wheels.fetch(pins, platform.arch, platform.python, python)
    wheels.trim(python, folder / "licenses")

    count = wheels.check_binaries(python, platform.arch, platform.python)
    print(f"runtime: trimmed; its {count} shared objects fit", flush=True)
    _compile(platform, folder, "/opt")


def _fill_model(files: list[Path], model: Path, folder: Path) -> None:
    copy(files, model, folder / "model")


def _fill_code(files: list[Path], package: Path, platform: Platform, folder: Path) -> None:
    copy(files, package.parent, folder / "python")
    _compile(platform, folder, "/opt")


def _fill_function(handler: Path, platform: Platform, folder: Path) -> None:
    copy([handler], handler.parent, folder)
    _compile(platform, folder, "/var/task")


def _compile(platform: Platform, folder: Path, as_seen: str) -> None:
    if platform.interpreter is not None:
        bytecode.compile_tree(platform.interpreter, folder, as_seen)
