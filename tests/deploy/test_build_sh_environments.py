"""build.sh makes environments whole or not at all, and asks for nothing that is not needed."""

import os
import shutil
from pathlib import Path
from typing import Final

import pytest

from support.build_script import SHELL, commands, run, without_root
from support.paths import TESTS

NEEDED: Final = (
    "default-jre-headless",
    "valgrind",
    "strace",
    "chromium",
    "fontconfig",
    "fonts-noto-cjk",
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


def test_without_python_nothing_is_installed(bare: Path, tmp_path: Path) -> None:
    for task in ("test", "run", "serve", "bench"):
        done = run(bare, task, "x", PATH=commands(tmp_path / f"bin-{task}", *SHELL, "id"))
        assert (done.returncode, done.stderr) == (
            1,
            "error: Python 3.11 or newer is needed (apt-get install python3).\n",
        )


def test_without_root_everything_that_is_missing_is_named_at_once(
    bare: Path, tmp_path: Path
) -> None:
    for listed in bare.glob("tests/*/debian.txt"):  # as on a machine without these fonts
        listed.write_text(listed.read_text().replace("/usr/share/", "/nowhere/"))
    done = run(bare, "test", PATH=without_root(tmp_path / "bin"))
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert [sentence.split().count(package) for package in NEEDED] == [1] * len(NEEDED)


DEBIAN: Final = (TESTS / "deploy" / "debian.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("named", "missing"),
    [
        (["tests/http"], []),
        (["-x", "tests/http/test_http.py::test_health", "tests/text"], []),
        (["tests/cache", "tests/http"], ["default-jre-headless"]),
        (["{root}/tests/model/test_cpus.py", "-v"], ["valgrind"]),
        (["tests/http", "--ignore", "tests/page", "--deselect", "tests/cache"], []),
        (
            ["tests/model", "tests/deploy"],
            sorted({"valgrind", *(line.split()[-1] for line in DEBIAN.splitlines())}),
        ),
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


def test_a_package_goes_by_the_name_that_this_debian_has(project: Path, tmp_path: Path) -> None:
    path = Path(without_root(tmp_path / "bin"))
    (path / "apt-cache").write_text('#!/bin/sh\n[ "$1 $2" = "show docker-cli" ]\n')
    (path / "apt-cache").chmod(0o755)
    (project / "tests" / "deploy" / "debian.txt").write_text("no-docker docker-cli docker.io\n")
    done = run(project, "test", "tests/deploy", PATH=str(path))
    assert done.stderr.endswith("--no-install-recommends docker-cli\n")
    (path / "apt-cache").write_text("#!/bin/sh\nexit 100\n")
    done = run(project, "test", "tests/deploy", PATH=str(path))
    assert done.stderr.endswith("--no-install-recommends docker.io\n")


def test_light_asks_for_python_packages_alone(project: Path, tmp_path: Path) -> None:
    (project / "tests" / "model" / "requirements.txt").write_text("")
    done = run(project, "test", "--light", "-x", PATH=without_root(tmp_path / "bin"))
    module, name, option, marked, *rest = done.stdout.split("|")[1:-1]
    assert (module, name, option, rest) == ("-m", "pytest", "-m", ["-x"])
    assert "java" in marked
    assert not done.returncode


def test_without_options_everything_is_checked_and_the_coverage_measured(
    project: Path, tmp_path: Path
) -> None:
    for folder in (project / "tests").glob("*/"):
        shutil.rmtree(folder)
    (project / "tests" / "text").mkdir()
    done = run(project, "test", PATH=without_root(tmp_path / "bin"), FILLMASK_MODEL_DIR="")
    modules = [call.split("|")[0] for call in done.stdout.split("|-m|")[1:]]
    assert modules == ["ruff", "ruff", "mypy", "coverage", "pytest", "coverage"]
