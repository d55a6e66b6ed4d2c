"""The alternatives as Lambda would lay them out: packages, model, code, bytecode or none."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from builder.layers import bytecode, wheels
from builder.layers.parts import Part, digest
from support.lambda_opt import ARCH, LOCAL, Layout, merge
from support.paths import ROOT

from . import models
from .models import OUT, make

ALTERNATIVES: Final = Path(__file__).with_name("alternatives")
PINS: Final = (models.PINS, ROOT / "requirements.txt")


def lay_out(name: str, code: str, packages: Sequence[str], model: Path, ours: Layout) -> Layout:
    """One alternative with the handler of module `code`; runtime client and boto3 are ours."""
    module = ALTERNATIVES / f"{code}.py"
    pins = digest(*PINS, *packages, LOCAL, ARCH)
    made = make(
        Part(
            f"{name}-packages",
            f"{name}/packages",
            pins,
            partial(_install, packages, ours.interpreter),
        ),
        Part(
            f"{name}-task",
            f"{name}/task",
            digest(module),
            partial(_copy_code, module, ours.interpreter),
        ),
    )

    layers = [made[f"{name}-packages"], model]
    inputs = digest(pins, _inputs(model.name))
    opt = make(Part(f"{name}-opt", f"{name}/opt", inputs, partial(merge, layers)))
    return Layout(made[f"{name}-task"], opt[f"{name}-opt"], ours.runtime, ours.interpreter)


def without_bytecode(name: str, whole: str, where: Layout) -> Layout:
    """Alternative `whole`, laid out in `where`, without bytecode and unable to write any.

    This is what `sam build` deploys to Lambda's read-only folders.
    """
    python = OUT / "python-without-bytecode"
    python.write_text(f'#!/bin/sh\nexec {where.interpreter.path} -B "$@"\n', "utf-8")
    python.chmod(0o755)

    def part(kind: str, source: Path) -> Part:
        inputs = _inputs(f"{whole}-{kind}")
        return Part(f"{name}-{kind}", f"{name}/{kind}", inputs, partial(_link_sources, source))

    made = make(part("task", where.task), part("opt", where.opt))
    return where._replace(
        task=made[f"{name}-task"],
        opt=made[f"{name}-opt"],
        interpreter=where.interpreter._replace(path=str(python)),
    )


def _inputs(part: str) -> str:
    """The digest of what a part was made from."""
    return (OUT / "stamps" / part).read_text("utf-8").split()[0]


def _install(packages: Sequence[str], interpreter: bytecode.Interpreter, folder: Path) -> None:
    """Installs packages with all that they require, at the versions of the requirements files."""
    options = [
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
        "--root-user-action=ignore",
    ]
    for file in PINS:
        options += ["--constraint", str(file)]
    target = f"--target={folder / 'python'}"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, target, *packages],
        check=True,
        env={**os.environ, "PIP_USER": "0"},
    )
    wheels.remove(folder / "python" / "bin")

    # Not bytecode.compile_tree, which raises: torch has a module in the syntax of a later Python.
    compileall = ["-m", "compileall", "-qq", "-f", "-j", "0"]
    subprocess.run(
        [
            *(interpreter.path, "-I", "-S", *compileall),
            *("--invalidation-mode", "unchecked-hash", str(folder)),
        ],
        check=False,
        stdout=subprocess.DEVNULL,
    )


def _copy_code(code: Path, interpreter: bytecode.Interpreter, folder: Path) -> None:
    shutil.copyfile(code, folder / "handler.py")
    bytecode.compile_tree(interpreter, folder, "/var/task")


def _link_sources(source: Path, folder: Path) -> None:
    shutil.copytree(
        source,
        folder,
        copy_function=os.link,
        ignore=shutil.ignore_patterns("__pycache__"),
        dirs_exist_ok=True,
    )
