"""The options that `./build.sh layer` and `./build.sh image` share: what to make, and for what."""

import argparse
import re
from pathlib import Path

from builder.layers import bytecode, wheels
from builder.layers.assemble import DEFAULT_ARCH, DEFAULT_PYTHON, ROOT, Platform


def parser(task: str, description: str, out: Path) -> argparse.ArgumentParser:
    """Reads the options of a task whose results go to `out` unless told otherwise."""
    options = argparse.ArgumentParser(f"build.sh {task}", description=description)
    options.add_argument(
        "--arch",
        choices=sorted(wheels.MACHINES),
        default=DEFAULT_ARCH,
        help="the function's architecture (default: %(default)s)",
    )
    options.add_argument(
        "--python",
        type=_version,
        default=DEFAULT_PYTHON,
        metavar="VERSION",
        help="the function's Python version (default: %(default)s)",
    )
    options.add_argument(
        "--model",
        type=Path,
        metavar="DIR",
        help="a built model (default: .build/model, or else layer/model)",
    )
    options.add_argument(
        "--interpreter",
        metavar="PATH",
        help="a Python of that version, to write bytecode (default: one found on this machine)",
    )
    options.add_argument(
        "--out",
        type=Path,
        default=out,
        metavar="DIR",
        help=f"where to put it (default: {out.relative_to(ROOT)})",
    )
    return options


def platform(options: argparse.Namespace) -> Platform:
    """What is asked for, with an interpreter if there is one; says what follows from it.

    Raises LayerError when the interpreter given will not do.
    """
    interpreter = bytecode.find(options.python, options.interpreter)
    _say_what_to_expect(options.python, interpreter)
    return Platform(options.arch, options.python, interpreter)


def _version(text: str) -> str:
    if not re.fullmatch(r"3\.\d{2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a Python version like 3.13")
    return text


def _say_what_to_expect(python: str, interpreter: bytecode.Interpreter | None) -> None:
    if interpreter is None:
        print(
            f"note: there is no Python {python} on this machine, so the layers carry no bytecode"
            " and every cold start compiles its modules; give one with --interpreter PATH.",
            flush=True,
        )
    else:
        print(f"bytecode: by Python {interpreter.release}, {interpreter.path}", flush=True)

    if int(python.split(".")[1]) < 12:
        print(
            f"note: Lambda's python{python} is Amazon Linux 2, whose C library is too old for"
            " onnxruntime; these layers are for use elsewhere.",
            flush=True,
        )
