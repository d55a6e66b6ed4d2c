"""Two small projects around a copy of build.sh, and a container engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import lambda_image
from support.build_script import FILES, needs_no_package
from support.container_engine import Engine


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """A container engine that has an image of Lambda's Python."""
    with Engine() as started:
        lambda_image.put_into(started)
        yield started


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the script in a project whose Python writes down its arguments, with everything
    installed.
    """
    root = tmp_path / "project"
    python = root / ".build" / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\n[ "$1" = -c ] || printf "%s|" "$FILLMASK_MODEL_DIR" "$@"\n')
    python.chmod(0o755)
    (python.parents[1] / ".made-in").write_text(f"{root}/.build/venv")
    needs_no_package(root)
    for file in FILES:
        (root / ".build" / "venv" / f".installed-{file.replace('/', '-')}").write_text("")
    (tmp_path / "here").mkdir()
    return root


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A project that needs no package, in a folder with a blank and Chinese characters."""
    root = tmp_path / "a 项目"
    needs_no_package(root)
    (root / "layer" / "builder" / "local.py").write_text("import sys; print(sys.prefix)")
    return root
