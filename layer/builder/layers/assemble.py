"""Assembles what template.yaml deploys: three layers and the function, under .build.

    .build/layers/runtime    python/...              from requirements.txt: wheels.py fetches and trims
    .build/layers/model      model/...               the INT8 file, its tokenizer and manifest
    .build/layers/code       python/fillmask/...     the run-time package
    .build/function          handler.py

Lambda lays the layers over each other at /opt and the function at /var/task. Nothing is uploaded here.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from builder.layers import bytecode, wheels
from builder.layers.parts import Part, bring_up_to_date, copy, digest
from builder.layers.wheels import LayerError
from fillmask.model.manifest import FILES

ROOT: Final = Path(__file__).parents[3]
DEFAULT_ARCH: Final = "x86_64"
DEFAULT_PYTHON: Final = "3.13"
LIMIT: Final = 262_144_000  # bytes of a function and its layers together, unzipped: Lambda's quota
MODEL_FILES: Final = (*FILES, "model.json")
RULES: Final = (
    "assemble.py",
    "parts.py",
    "wheels.py",
    "bytecode.py",
)  # a change here rebuilds everything


class Target(NamedTuple):
    """What the layers are for; without an interpreter of that version there is no bytecode."""

    arch: str
    python: str
    interpreter: bytecode.Interpreter | None


def parts(root: Path, model: Path, target: Target) -> list[Part]:
    """The four parts, in the order of the table."""
    pins = wheels.wanted(root / "requirements.txt")
    handler = root / "handler.py"
    if not handler.is_file():
        raise LayerError(f"{handler} is missing.")
    source = root / "layer" / "fillmask"
    code = [
        path
        for path in sorted(source.rglob("*"))
        if path.is_file() and _ships(path.relative_to(source))
    ]
    files = _model_files(model)
    rules = digest(*(Path(__file__).with_name(name) for name in RULES))
    made_for = (
        f"{target.arch} {target.python} {target.interpreter and target.interpreter.release} {rules}"
    )
    names = [str(path.relative_to(source)) for path in code]
    fill_code = partial(_fill_code, code, source, target)
    return [
        Part(
            "runtime",
            "layers/runtime",
            digest(made_for, *pins),
            partial(_fill_runtime, pins, target),
        ),
        Part("model", "layers/model", digest(rules, *files), partial(_fill_model, files)),
        Part("code", "layers/code", digest(made_for, *names, *code), fill_code),
        Part(
            "function",
            "function",
            digest(made_for, handler),
            partial(_fill_function, handler, target),
        ),
    ]


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of every file under `folder`, by relative path."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.stat().st_size for path in files}


def biggest(folders: dict[str, Path]) -> list[tuple[str, int]]:
    """Packages and model files by size, biggest first."""
    found: dict[str, int] = {}
    for part, folder in folders.items():
        for path, size in sizes(folder).items():
            name = f"{part}: {'/'.join(path.split('/')[:2])}"
            found[name] = found.get(name, 0) + size
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def check_size(folders: dict[str, Path], limit: int = LIMIT) -> int:
    """Bytes of all folders together; raises LayerError over Lambda's limit, naming the biggest parts."""
    total = sum(sum(sizes(folder).values()) for folder in folders.values())
    if total > limit:
        names = "; ".join(f"{name} {size:,}" for name, size in biggest(folders)[:5])
        raise LayerError(
            f"{total:,} bytes in all are over Lambda's limit of {limit:,}; biggest: {names}."
        )
    return total


def table(folders: dict[str, Path]) -> str:
    """Bytes by part, their sum against the limit, and the ten biggest things inside."""
    rows = [(name, sum(sizes(folder).values())) for name, folder in folders.items()]
    total = sum(size for _, size in rows)
    rows += [("in all", total), (f"left of {LIMIT:,}", LIMIT - total)]
    inside = biggest(folders)[:10]
    width = max(len(name) for name, _ in rows + inside)
    lines = [f"{name:<{width}} {size:>13,}" for name, size in rows + inside]
    return "\n".join([*lines[: len(rows)], "", "biggest parts", *lines[len(rows) :]])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; prints the table and returns 0, or one sentence on standard error and 1."""
    options = _parser().parse_args(arguments)
    try:
        interpreter = bytecode.find(options.python, options.interpreter)
        _say_what_to_expect(options.python, interpreter)
        target = Target(options.arch, options.python, interpreter)
        wanted = parts(ROOT, options.model or default_model(), target)
        folders = bring_up_to_date(wanted, options.out, check_size)
    except (LayerError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"\nbytes for Python {options.python} on {options.arch}\n{table(folders)}")
    return 0


def default_model() -> Path:
    """The model that was built last, or else the embedded one."""
    built = ROOT / ".build" / "model"
    return built if (built / "model.json").is_file() else ROOT / "layer" / "model"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "./build.sh layer", description="Assemble the three layers and the function."
    )
    parser.add_argument(
        "--arch",
        choices=sorted(wheels.MACHINES),
        default=DEFAULT_ARCH,
        help="the function's architecture; default: %(default)s",
    )
    parser.add_argument(
        "--python",
        type=_version,
        default=DEFAULT_PYTHON,
        help="the function's Python version; default: %(default)s",
    )
    parser.add_argument(
        "--model",
        type=Path,
        metavar="DIR",
        help="a built model; default: .build/model, or else layer/model",
    )
    parser.add_argument(
        "--interpreter",
        metavar="PATH",
        help="a Python of that version, to write bytecode; default: one found here",
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / ".build", metavar="DIR", help="default: .build"
    )
    return parser


def _version(text: str) -> str:
    if not re.fullmatch(r"3\.\d{2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a Python version like 3.13")
    return text


def _say_what_to_expect(python: str, interpreter: bytecode.Interpreter | None) -> None:
    if interpreter is None:
        print(
            f"note: no Python {python} is at hand, so the layers carry no bytecode and every cold start"
            " compiles its modules; give one with --interpreter PATH.",
            flush=True,
        )
    else:
        print(f"bytecode: by Python {interpreter.release}, {interpreter.path}", flush=True)
    if int(python.split(".")[1]) < 12:
        print(
            f"note: Lambda's python{python} is Amazon Linux 2, whose C library is too old for onnxruntime;"
            " these layers are for use elsewhere.",
            flush=True,
        )


def _ships(path: Path) -> bool:
    return not any(part == "__pycache__" or part.startswith(".") for part in path.parts)


def _model_files(model: Path) -> list[Path]:
    missing = [name for name in MODEL_FILES if not (model / name).is_file()]
    if missing:
        raise LayerError(f"{model} is not a built model: {', '.join(missing)} missing.")
    return [model / name for name in MODEL_FILES] + sorted(model.glob("*.md"))


def _fill_runtime(pins: list[str], target: Target, folder: Path) -> None:
    print(
        f"runtime: fetching {len(pins)} packages for Python {target.python} on {target.arch}",
        flush=True,
    )
    wheels.fetch(pins, target.arch, target.python, folder / "python")
    wheels.trim(folder / "python", folder / "licenses")
    count = wheels.check_binaries(folder / "python", target.arch, target.python)
    print(f"runtime: trimmed; its {count} shared objects fit", flush=True)
    _compile(target, folder, "/opt")


def _fill_model(files: list[Path], folder: Path) -> None:
    copy(files, files[0].parent, folder / "model")


def _fill_code(files: list[Path], source: Path, target: Target, folder: Path) -> None:
    copy(files, source.parent, folder / "python")
    _compile(target, folder, "/opt")


def _fill_function(handler: Path, target: Target, folder: Path) -> None:
    copy([handler], handler.parent, folder)
    _compile(target, folder, "/var/task")


def _compile(target: Target, folder: Path, as_seen: str) -> None:
    if target.interpreter is not None:
        bytecode.compile_tree(target.interpreter, folder, as_seen)


if __name__ == "__main__":
    sys.exit(main())
