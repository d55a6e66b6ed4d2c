"""Copies of build.sh in small projects, and what of a machine such a copy sees."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from support.paths import ROOT, TESTS

SCRIPT: Final = ROOT / "build.sh"
FILES: Final = ("requirements.txt", "layer/builder/requirements.txt", "tests/requirements.txt")
SHELL: Final = ("bash", "dirname", "cat", "mkdir", "rm", "mv", "tr", "cmp", "cp", "sort", "env")


def needs_no_package(root: Path) -> None:
    """The script, the tests' lists of Debian packages, and requirements of nothing."""
    for file in FILES:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("")
    for listed in TESTS.glob("*/debian.txt"):
        copied = root / listed.relative_to(ROOT)
        copied.parent.mkdir(parents=True)
        shutil.copy(listed, copied)
    shutil.copy(SCRIPT, root)


def run(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the script of a project, by default the task `run`."""
    return subprocess.run(
        [root / "build.sh", *(arguments or ("run", "x"))],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )


def commands(folder: Path, *names: str) -> str:
    """A PATH with these commands of this machine and no others."""
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(str(shutil.which(name)))
    return str(folder)


def without_root(folder: Path) -> str:
    """A PATH of somebody who is not root and has none of what only some tests use."""
    path = Path(commands(folder, *SHELL))
    (path / "python3").symlink_to(sys.executable)
    (path / "id").write_text("#!/bin/sh\necho 1000\n")
    (path / "id").chmod(0o755)
    return str(path)
