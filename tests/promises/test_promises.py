"""What the README and the conventions promise, checked against the code."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from fillmask import limits
from fillmask.problem import TABLE
from fillmask.settings import ROWS

README = Path("README.md").read_text(encoding="utf-8")
RUN_TIME, BUILD_TIME = Path("layer/fillmask"), Path("layer/builder")
SOURCES = sorted([*RUN_TIME.glob("*.py"), *BUILD_TIME.glob("*.py"), Path("handler.py")])
HEAVY = {"torch", "transformers", "optimum", "tensorflow", "pandas", "scipy"}


def section(title: str) -> str:
    return re.split(r"^## ", README.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


def rows(title: str) -> list[list[str]]:
    """The cells of the tables in a section of the README, without heads."""
    lines = [line for line in section(title).splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= (
                {f"{node.module}.{alias.name}" for alias in node.names}
                if node.module in ("fillmask", "builder")
                else {node.module}
            )
    return found


def test_settings_table() -> None:
    told = {variable.strip("`"): default.strip("`") for variable, default, _ in rows("Settings")}
    assert told == {row.variable: row.default for row in ROWS}


def test_error_table() -> None:
    assert {code.strip("`"): int(status) for code, status, _ in rows("Errors")} == {
        code: status for code, (status, _) in TABLE.items()
    }


def test_limits_table() -> None:
    assert {name.strip("`"): int(number) for name, number, _ in rows("Limits")} == limits.TABLE


def reading_order() -> dict[str, list[str]]:
    """Module names by half, in the order of the README."""
    build = section("How it is made").index("build time")
    halves = {
        "fillmask": section("How it is made")[:build],
        "builder": section("How it is made")[build:],
    }
    return {
        half: re.findall(
            r"`(\w+)\.py`",
            "".join(line for line in text.splitlines(keepends=True) if line.startswith("| `")),
        )
        for half, text in halves.items()
    }


@pytest.mark.parametrize("half", ["fillmask", "builder"])
def test_every_module_stands_in_the_reading_order_and_imports_only_what_comes_before(
    half: str,
) -> None:
    order = reading_order()[half]
    folder = Path("layer") / half
    assert sorted(order) == sorted(
        path.stem for path in folder.glob("*.py") if path.stem != "__init__"
    )
    for place, name in enumerate(order):
        ours = {
            module.split(".")[1]
            for module in imports(folder / f"{name}.py")
            if module.startswith(f"{half}.")
        }
        assert ours <= set(order[:place]), f"{name} reaches up"


def test_the_run_time_knows_nothing_of_the_builder_and_nobody_of_the_heavy_ones() -> None:
    for path in SOURCES:
        roots = {module.split(".")[0] for module in imports(path)}
        assert not roots & HEAVY, path
        assert path.parent != RUN_TIME or "builder" not in roots, path


def reads_environment(tree: ast.AST) -> bool:
    """os.environ.get(...), os.getenv(...) or os.environ[...] read; setting a variable is something else."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "getenv":
            return True
        if (
            isinstance(node, ast.Subscript)
            and ast.unparse(node.value) == "os.environ"
            and isinstance(node.ctx, ast.Load)
        ):
            return True
        if isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "os.environ.get",
            "Settings.from_env",
        ):
            return True
    return False


def test_only_the_handler_reads_the_environment() -> None:
    readers = [
        path.name
        for path in [*RUN_TIME.glob("*.py"), Path("handler.py")]
        if reads_environment(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert readers == ["handler.py"]


def documented(tree: ast.Module) -> list[Any]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_modules_are_short_and_say_what_they_are(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    assert text.count("\n") <= 220
    inner = {
        id(child)
        for node in documented(tree)
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_")
        for child in ast.walk(node)
        if child is not node
    }
    for node in documented(tree):
        if not isinstance(node, ast.ClassDef):
            assert (node.end_lineno or 0) - node.lineno < 46, node.name
        if not node.name.startswith("_") and id(node) not in inner:
            assert ast.get_docstring(node), f"{path}: {node.name}"


def test_nothing_else_is_visible_at_the_top() -> None:
    allowed = {
        "handler.py",
        "template.yaml",
        "requirements.txt",
        "README.md",
        "layer",
        "tests",
        "build.sh",
    }
    assert {path.name for path in Path().iterdir() if not path.name.startswith(".")} - {
        "__pycache__"
    } == allowed
