"""build.sh itself: helps that install nothing and tell the truth, and files named from the caller's
folder.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT, TESTS

SCRIPT = ROOT / "build.sh"

FILES = ("requirements.txt", "layer/builder/requirements.txt", "tests/requirements.txt")
NEEDED = ("default-jre-headless", "valgrind", "strace", "chromium", "fontconfig", "fonts-noto-cjk")


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


def needs_no_package(root: Path) -> None:
    """The script, the tests' lists of Debian packages, and requirements of nothing."""
    for file in FILES:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("")
    for listed in TESTS.glob("*/debian.txt"):
        copied = root / listed.relative_to(SCRIPT.parent)
        copied.parent.mkdir(parents=True)
        shutil.copy(listed, copied)
    shutil.copy(SCRIPT, root)


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


@pytest.mark.parametrize("task", ["run", "serve", "model", "layer", "test", "bench"])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_installs_nothing_and_needs_nothing_installed(
    tmp_path: Path, task: str, option: str
) -> None:
    for name in ("build.sh", "layer/builder", "layer/fillmask", "tests/bench"):
        copied = tmp_path / name
        copied.parent.mkdir(exist_ok=True)
        copied.symlink_to(SCRIPT.parent / name)
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


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A project that needs no package, in a folder with a blank and Chinese characters."""
    root = tmp_path / "a 项目"
    needs_no_package(root)
    (root / "layer" / "builder" / "local.py").write_text("import sys; print(sys.prefix)")
    return root


def run(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [root / "build.sh", *(arguments or ("run", "x"))],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )


def test_an_environment_that_was_moved_or_is_not_whole_is_made_anew(bare: Path) -> None:
    unfinished = bare / ".build" / "venv.unfinished" / "bin"
    unfinished.mkdir(parents=True)  # what an interrupted run leaves
    venv = bare / ".build" / "venv"
    assert run(bare).stdout == f"{venv}\n"
    assert not unfinished.exists()

    made = (venv / "pyvenv.cfg").stat().st_mtime_ns
    assert run(bare).stdout == f"{venv}\n"
    assert (venv / "pyvenv.cfg").stat().st_mtime_ns == made  # nothing to do

    moved = bare.rename(bare.with_name("moved 项目"))
    assert run(moved).stdout == f"{moved}/.build/venv\n"
    assert (moved / ".build" / "venv" / ".made-in").read_text() == f"{moved}/.build/venv"

    (moved / ".build" / "venv" / "bin" / "python").unlink()
    assert run(moved).stdout == f"{moved}/.build/venv\n"


def test_an_index_that_cannot_be_reached_is_one_sentence(bare: Path) -> None:
    (bare / "requirements.txt").write_text("six==1.17.0\n")
    nowhere = "http://127.0.0.1:9/simple"
    done = run(
        bare,
        PIP_INDEX_URL=nowhere,
        PIP_EXTRA_INDEX_URL=nowhere,
        PIP_RETRIES="1",
        PIP_CONFIG_FILE=os.devnull,
        PIP_FIND_LINKS="",
        PIP_NO_CACHE_DIR="1",
    )
    assert done.returncode == 1
    assert done.stderr == (
        "installing requirements.txt\nerror: the package index cannot be reached; "
        ".build/pip.log has all that pip said.\n"
    )


def commands(folder: Path, *names: str) -> str:
    """A PATH with these commands of this machine and no others."""
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(str(shutil.which(name)))
    return str(folder)


SHELL = ("bash", "dirname", "cat", "mkdir", "rm", "mv", "tr", "cmp", "cp", "sort", "env")


def test_without_python_nothing_is_installed(bare: Path, tmp_path: Path) -> None:
    for task in ("test", "run", "serve", "bench"):
        done = run(bare, task, "x", PATH=commands(tmp_path / f"bin-{task}", *SHELL, "id"))
        assert (done.returncode, done.stderr) == (
            1,
            "error: Python 3.11 or newer is needed (apt-get install python3).\n",
        )


def without_root(folder: Path) -> str:
    """A PATH of somebody who is not root and has none of what only some tests use."""
    path = Path(commands(folder, *SHELL))
    (path / "python3").symlink_to(sys.executable)
    (path / "id").write_text("#!/bin/sh\necho 1000\n")
    (path / "id").chmod(0o755)
    return str(path)


def test_without_root_everything_that_is_missing_is_named_at_once(
    bare: Path, tmp_path: Path
) -> None:
    for listed in bare.glob("tests/*/debian.txt"):  # as on a machine without these fonts
        listed.write_text(listed.read_text().replace("/usr/share/", "/nowhere/"))
    done = run(bare, "test", PATH=without_root(tmp_path / "bin"))
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert [sentence.split().count(package) for package in NEEDED] == [1] * len(NEEDED)


@pytest.mark.parametrize(
    ("named", "missing"),
    [
        (["tests/http"], []),
        (["-x", "tests/http/test_http.py::test_health", "tests/text"], []),
        (["tests/cache", "tests/http"], ["default-jre-headless"]),
        (["{root}/tests/model/test_cpus.py", "-v"], ["valgrind"]),
        (["tests/http", "--ignore", "tests/page", "--deselect", "tests/cache"], []),
        (["tests/model", "tests/deploy"], ["default-jre-headless", "strace", "valgrind"]),
    ],
)
def test_a_folder_of_tests_asks_for_what_it_uses(
    project: Path, tmp_path: Path, named: list[str], missing: list[str]
) -> None:
    for name in ("model", "deploy"):
        (project / "tests" / name / "requirements.txt").write_text("")
    named = [argument.format(root=project) for argument in named]
    done = run(project, "test", *named, PATH=without_root(tmp_path / "bin"))
    if missing:
        assert done.stderr.endswith(f"--no-install-recommends {' '.join(missing)}\n")
        assert not done.stdout
    else:
        assert done.stdout.split("|")[1:-1] == ["-m", "pytest", *named]
