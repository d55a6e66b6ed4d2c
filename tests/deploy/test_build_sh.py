"""build.sh itself: help that needs nothing installed, and files named from the caller's folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT


def called(project: Path, folder: Path, *arguments: str, model: str = "") -> list[str]:
    """FILLMASK_MODEL_DIR and the arguments after `-m MODULE` that Python gets."""
    done = subprocess.run(
        [project / "build.sh", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | {"FILLMASK_MODEL_DIR": model},
        check=True,
    )
    given = done.stdout.split("|")[:-1]
    assert given[1] == "-m"
    return [given[0], *given[3:]]


def test_files_count_from_the_callers_folder(project: Path) -> None:
    here = project.parent / "here"
    (here / "checkpoint").mkdir()
    (here / "main").mkdir()
    assert called(
        project, here, "model", "checkpoint", "--out", "new", "--revision", "main", "--force"
    ) == ["", f"{here}/checkpoint", "--out", f"{here}/new", "--revision", "main", "--force"]
    assert called(project, here, "model", "--force", "owner/name", "--out=new") == [
        "",
        "--force",
        "owner/name",
        f"--out={here}/new",
    ]
    assert called(project, here, "model", "/checkpoint") == ["", "/checkpoint"]
    assert called(
        project, here, "layer", "--model", "checkpoint", "--interpreter", "python3.13"
    ) == ["", "--model", f"{here}/checkpoint", "--interpreter", "python3.13"]
    assert called(project, here, "run", "--event", "a.json") == [
        "",
        "run",
        "--event",
        f"{here}/a.json",
    ]


def test_what_is_no_file_stays_as_it_is(project: Path) -> None:
    here = project.parent / "here"
    (here / "text").mkdir()
    assert called(project, here, "run", "text", "--targets", "text") == [
        "",
        "run",
        "text",
        "--targets",
        "text",
    ]
    assert called(project, here, "run", " [MASK] \n\n", "") == ["", "run", " [MASK] \n\n", ""]
    assert called(project, project, "model", "layer", "--out", "new") == [
        "",
        "layer",
        "--out",
        "new",
    ]


def test_the_model_folder_of_the_environment_counts_from_there_too(project: Path) -> None:
    here = project.parent / "here"
    assert called(project, here, "run", "x", model="mine") == [f"{here}/mine", "run", "x"]
    assert called(project, here, "run", "x", model="/mine") == ["/mine", "run", "x"]


@pytest.mark.parametrize("task", ["run", "serve", "model", "layer", "image", "test", "bench"])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_installs_nothing_and_needs_nothing_installed(
    tmp_path: Path, task: str, option: str
) -> None:
    for name in ("build.sh", "layer/builder", "layer/fillmask", "tests/bench"):
        copied = tmp_path / name
        copied.parent.mkdir(exist_ok=True)
        copied.symlink_to(ROOT / name)
    bare_python = tmp_path / "bin" / "python3"
    bare_python.parent.mkdir()
    bare_python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare_python.chmod(0o755)
    done = subprocess.run(
        [tmp_path / "build.sh", task, option],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": f"{bare_python.parent}:{os.environ['PATH']}"},
        check=True,
    )
    assert re.match(rf"usage: (\./)?build\.sh {task} ", done.stdout)
    assert not done.stderr
    assert not (tmp_path / ".build").exists()
