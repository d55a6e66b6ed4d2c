"""Bytecode by the target's own Python, so that a cold start compiles nothing.

/opt and /var/task are read-only on Lambda: without .pyc files every cold start compiles every module
again. Unchecked-hash files are right whatever the files' times say after a zip. Bytecode of another
Python version would be ignored, so only an interpreter of the target's version may write it.
"""

import os
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
    """An interpreter of version `python` ("3.13"): the given one, this one, on PATH, or one of pyenv's."""
    if given is not None:
        release = _release(given)
        if release is None:
            raise LayerError(f"--interpreter {given} is not a CPython that runs here.")
        if not release.startswith(f"{python}."):
            raise LayerError(
                f"--interpreter {given} is Python {release}, and the target is Python {python}."
            )
        return Interpreter(given, release)
    for path in _candidates(python):
        release = _release(path)
        if release is not None and release.startswith(f"{python}."):
            return Interpreter(path, release)
    return None


def _candidates(python: str) -> Iterator[str]:
    if sys.version_info[:2] == tuple(int(part) for part in python.split(".")):
        yield sys.executable
    on_path = shutil.which(f"python{python}")
    if on_path:
        yield on_path
    # pyenv's command on PATH refuses to run a version that is installed but not selected.
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from (str(path) for path in sorted(root.glob(f"versions/{python}.*/bin/python{python}")))


def _release(path: str) -> str | None:
    ask = "import platform as p; print(p.python_implementation(), p.python_version())"
    try:
        answer = subprocess.run(
            [path, "-I", "-S", "-c", ask], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = answer.stdout.split()
    return (
        words[1] if answer.returncode == 0 and len(words) == 2 and words[0] == "CPython" else None
    )


def compile_tree(interpreter: Interpreter, folder: Path, as_seen: str) -> None:
    """Write __pycache__ beside every module under `folder`, with tracebacks that name `as_seen`.

    One process and one hash seed, so that the same sources give the same bytes.
    """
    command = [
        interpreter.path,
        "-s",
        "-S",
        "-m",
        "compileall",
        "-q",
        "-f",
        "-j",
        "1",
        "--invalidation-mode",
        "unchecked-hash",
        "-s",
        str(folder),
        "-p",
        as_seen,
        str(folder),
    ]
    done = subprocess.run(
        command, env={"PYTHONHASHSEED": "0"}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines() or [f"code {done.returncode}"]
        raise LayerError(
            f"Python {interpreter.release} could not compile {folder.name}: {lines[-1].strip()}"
        )
