"""Bytecode by a Python of the function's version, so that a cold start compiles nothing.

/opt and /var/task are read-only on Lambda: without .pyc files every cold start compiles every
module again. Unchecked-hash files are right whatever the files' times say after a zip. Bytecode of
another Python version would be ignored, so only an interpreter of that version may write it.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from builder.layers.wheels import LayerError


class Interpreter(NamedTuple):
    """A CPython that can be run here; `release` is its full version, as "3.13.0"."""

    path: str
    release: str


def find(python: str, given: str | None) -> Interpreter | None:
    """An interpreter of version `python` ("3.13"): the given one, this one, or one on this machine.

    Raises LayerError when the given one cannot be run or is of another version.
    """
    if given is not None:
        return _given(python, given)
    for path in _candidates(python):
        release = _release(path)
        if release is not None and release.startswith(f"{python}."):
            return Interpreter(path, release)
    return None


def _given(python: str, path: str) -> Interpreter:
    release = _release(path)
    if release is None:
        raise LayerError(f"--interpreter {path} is not a CPython that runs here.")
    if not release.startswith(f"{python}."):
        raise LayerError(
            f"--interpreter {path} is Python {release}, and the layers are for Python {python}."
        )
    return Interpreter(path, release)


def _candidates(python: str) -> Iterator[str]:
    """Where such a Python may be: this process, PATH, pyenv."""
    if sys.version_info[:2] == tuple(int(number) for number in python.split(".")):
        yield sys.executable

    on_path = shutil.which(f"python{python}")
    if on_path:
        yield on_path

    # pyenv's command on PATH refuses to run a version that is installed but not selected.
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for path in sorted(root.glob(f"versions/{python}.*/bin/python{python}")):
        yield str(path)


def _release(path: str) -> str | None:
    """The version of the CPython at `path`, or None where there is none that runs."""
    script = "import platform as p; print(p.python_implementation(), p.python_version())"
    command = [path, "-I", "-S", "-c", script]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None

    found = re.fullmatch(r"CPython (\S+)\n", done.stdout)
    return found[1] if found and done.returncode == 0 else None


def compile_tree(interpreter: Interpreter, folder: Path, as_seen: str) -> None:
    """Writes the __pycache__ of every module under `folder`; tracebacks then name `as_seen`.

    One process and one hash seed, so that the same sources give the same bytes.
    """
    command = [interpreter.path, "-s", "-S", "-m", "compileall", "-q", "-f", "-j", "1"]
    command += ["--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", as_seen]
    done = subprocess.run(
        [*command, str(folder)],
        env={"PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines() or [f"code {done.returncode}"]
        raise LayerError(
            f"Python {interpreter.release} could not compile {folder.name}: {lines[-1].strip()}"
        )
