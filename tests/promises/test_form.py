"""The form of the code: short files and functions, docstrings, one reader of the environment."""

import ast
from pathlib import Path
from typing import Final

import pytest

from support import source_tree
from support.paths import ROOT

FILE_LINES: Final = 250
FUNCTION_LINES: Final = 40
TOP: Final = {
    "LICENSE",
    "README.md",
    "build.sh",
    "handler.py",
    "layer",
    "requirements.txt",
    "template.yaml",
    "tests",
}
READING: Final = {"os.environ.get", "os.environ.items", "os.getenv", "Settings.from_env"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [*source_tree.shipped(), *source_tree.tests()], ids=name_of)
def test_files_and_functions_are_short(path: Path) -> None:
    file_lines = len(path.read_text("utf-8").splitlines())
    assert file_lines <= FILE_LINES

    functions = [node for node in ast.walk(source_tree.parsed(path)) if isinstance(node, Function)]
    assert [node.name for node in functions if lines_of(node) > FUNCTION_LINES] == []


def lines_of(node: Function) -> int:
    """The lines from `def` to the end, decorators left out."""
    return (node.end_lineno or 0) - node.lineno + 1


@pytest.mark.parametrize("path", source_tree.shipped(), ids=name_of)
def test_what_is_public_says_what_it_is(path: Path) -> None:
    tree = source_tree.parsed(path)
    assert ast.get_docstring(tree)
    assert [node.name for node in public(tree) if not ast.get_docstring(node)] == []


def public(tree: ast.Module | ast.ClassDef) -> list[Function | ast.ClassDef]:
    """The public classes and functions of a module, with the public methods of those classes."""
    named = [node for node in tree.body if isinstance(node, Function | ast.ClassDef)]
    here = [node for node in named if not node.name.startswith("_")]
    methods = [public(node) for node in here if isinstance(node, ast.ClassDef)]
    return [*here, *(method for found in methods for method in found)]


def test_only_the_handler_reads_the_environment() -> None:
    run_time = [source_tree.HANDLER, *source_tree.modules("fillmask").values()]
    readers = [path for path in run_time if reads_environment(source_tree.parsed(path))]
    assert readers == [source_tree.HANDLER]


def reads_environment(tree: ast.Module) -> bool:
    """Whether a module reads a variable or hands all of them on; setting one is fine."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in READING:
            return True

        read = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
        if read and ast.unparse(node).startswith("os.environ["):
            return True
    return False


def test_nothing_else_is_visible_at_the_top() -> None:
    visible = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert visible - {"__pycache__"} == TOP
