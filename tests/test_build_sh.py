"""build.sh itself: helps that install nothing and tell the truth, and files named from the caller's folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path("build.sh").resolve()
MODULES = {"model": "builder.build", "layer": "builder.layers", "bench": "tests.bench"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the script in a project whose Python writes down its arguments, with everything installed."""
    root = tmp_path / "project"
    python = root / ".build" / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "%s|" "$FILLMASK_MODEL_DIR" "$@"\n')
    (python.parent / "pip").write_text("#!/bin/sh\nexit 1\n")
    for program in (python, python.parent / "pip"):
        program.chmod(0o755)
    for file in ("requirements.txt", "layer/builder/requirements.txt"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("")
        (root / ".build" / "venv" / f".installed-{file.replace('/', '-')}").write_text("")
    shutil.copy(SCRIPT, root)
    (tmp_path / "here").mkdir()
    return root


def called(project: Path, folder: Path, *arguments: str, model: str = "") -> list[str]:
    """FILLMASK_MODEL_DIR and the arguments after `-m MODULE` that Python gets."""
    done = subprocess.run([project / "build.sh", *arguments], cwd=folder, capture_output=True, text=True,
                          env=os.environ | {"FILLMASK_MODEL_DIR": model}, check=True)
    given = done.stdout.split("|")[:-1]
    assert given[1] == "-m"
    return [given[0], *given[3:]]


def test_files_count_from_the_callers_folder(project: Path) -> None:
    here = project.parent / "here"
    (here / "checkpoint").mkdir()
    (here / "main").mkdir()
    assert called(project, here, "model", "checkpoint", "--out", "new", "--revision", "main", "--force") == [
        "", f"{here}/checkpoint", "--out", f"{here}/new", "--revision", "main", "--force"]
    assert called(project, here, "model", "--force", "owner/name", "--out=new") == [
        "", "--force", "owner/name", f"--out={here}/new"]
    assert called(project, here, "model", "/checkpoint") == ["", "/checkpoint"]
    assert called(project, here, "layer", "--model", "checkpoint", "--interpreter", "python3.13") == [
        "", "--model", f"{here}/checkpoint", "--interpreter", "python3.13"]
    assert called(project, here, "run", "--event", "a.json") == ["", "run", "--event", f"{here}/a.json"]


def test_what_is_no_file_stays_as_it_is(project: Path) -> None:
    here = project.parent / "here"
    (here / "text").mkdir()
    assert called(project, here, "run", "text", "--targets", "text") == ["", "run", "text", "--targets", "text"]
    assert called(project, here, "run", " [MASK] \n\n", "") == ["", "run", " [MASK] \n\n", ""]
    assert called(project, project, "model", "layer", "--out", "new") == ["", "layer", "--out", "new"]


def test_the_model_folder_of_the_environment_counts_from_there_too(project: Path) -> None:
    here = project.parent / "here"
    assert called(project, here, "run", "x", model="mine") == [f"{here}/mine", "run", "x"]
    assert called(project, here, "run", "x", model="/mine") == ["/mine", "run", "x"]


@pytest.mark.parametrize("task", ["run", "serve", "model", "layer", "test", "bench"])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_installs_nothing(tmp_path: Path, task: str, option: str) -> None:
    for name in ("build.sh", "layer/builder", "layer/fillmask"):
        copied = tmp_path / name
        copied.parent.mkdir(exist_ok=True)
        copied.symlink_to(SCRIPT.parent / name)
    done = subprocess.run([tmp_path / "build.sh", task, option], cwd=tmp_path, capture_output=True, text=True,
                          check=True)
    assert re.match(rf"usage: (\./)?build\.sh {task} ", done.stdout)
    assert not done.stderr
    assert not (tmp_path / ".build").exists()


@pytest.mark.parametrize(("task", "module"), MODULES.items())
def test_help_names_the_options_there_are(task: str, module: str) -> None:
    printed = [
        subprocess.run(command, capture_output=True, text=True, check=True,
                       env=os.environ | {"PYTHONPATH": ".:layer:tests"}).stdout
        for command in ([str(SCRIPT), task, "--help"], [sys.executable, "-m", module, "--help"])]
    ours, theirs = (set(re.findall(r"^ +(?:-h, )?(--[a-z]+)", text, re.MULTILINE)) for text in printed)
    assert ours == theirs - {"--help"}
