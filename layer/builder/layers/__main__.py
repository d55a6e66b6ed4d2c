"""The command `./build.sh layer`: assembles the layers and the function for one platform.

It needs the standard library alone, so that --help and the assembling work with nothing installed.
"""

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from builder.layers import bytecode, commands, sizes, wheels
from builder.layers.assemble import (
    DEFAULT_ARCH,
    DEFAULT_PYTHON,
    ROOT,
    Platform,
    default_model,
    parts,
)
from builder.layers.parts import bring_up_to_date
from builder.layers.wheels import LayerError

OUT: Final = ROOT / ".build"  # where template.yaml looks for them


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table of sizes and returns 0, or 1 after one sentence on standard error."""
    options = _parser().parse_args(arguments)
    try:
        interpreter = bytecode.find(options.python, options.interpreter)
        _say_what_to_expect(options.python, interpreter)

        platform = Platform(options.arch, options.python, interpreter)
        wanted = parts(ROOT, options.model or default_model(), platform)
        folders = bring_up_to_date(wanted, options.out, sizes.check)
    except (LayerError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1

    print(f"\nbytes for Python {options.python} on {options.arch}\n{sizes.report(folders)}")
    if options.out.resolve() == OUT:
        print(f"\ntry them: {shlex.join(commands.invoke(platform))}")
        print(f"deploy them: {shlex.join(commands.deploy(platform))}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "build.sh layer",
        description="Assemble the three layers and the function for `sam deploy`.",
    )
    parser.add_argument(
        "--arch",
        choices=sorted(wheels.MACHINES),
        default=DEFAULT_ARCH,
        help="the function's architecture (default: %(default)s)",
    )
    parser.add_argument(
        "--python",
        type=_version,
        default=DEFAULT_PYTHON,
        metavar="VERSION",
        help="the function's Python version (default: %(default)s)",
    )
    parser.add_argument(
        "--model",
        type=Path,
        metavar="DIR",
        help="a built model (default: .build/model, or else layer/model)",
    )
    parser.add_argument(
        "--interpreter",
        metavar="PATH",
        help="a Python of that version, to write bytecode (default: one found on this machine)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=OUT,
        metavar="DIR",
        help="where to put them (default: .build)",
    )
    return parser


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


if __name__ == "__main__":
    sys.exit(main())
