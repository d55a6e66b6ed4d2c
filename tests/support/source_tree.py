"""The project's own source files and what each imports, read as text: nothing is run."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from support.paths import LAYER, ROOT, TESTS

HALVES: Final = ("fillmask", "builder")
HANDLER: Final = ROOT / "handler.py"


def modules(half: str) -> dict[str, Path]:
    """The modules of a half by their place in it, such as `http/app.py`; no `__init__.py`."""
    folder = LAYER / half
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.py"))}
    return {place: path for place, path in found.items() if path.name != "__init__.py"}


def packages() -> list[Path]:
    """Every `__init__.py` of both halves."""
    return [path for half in HALVES for path in sorted((LAYER / half).rglob("__init__.py"))]


def shipped() -> list[Path]:
    """The handler and every module of both halves."""
    return [HANDLER, *(path for half in HALVES for path in modules(half).values())]


def tests() -> list[Path]:
    """Every Python file of the tests."""
    return sorted(TESTS.rglob("*.py"))


def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"), str(path))


def imported(path: Path) -> set[str]:
    """The dotted names that a file imports anywhere; `from a.b import c` is a.b and a.b.c.

    AssertionError on a relative import: the project has none.
    """
    return set(_imported(parsed(path), path))


def imported_of(half: str, path: Path) -> set[str]:
    """The modules of a half that a file imports, by their place in it."""
    dotted = {
        f"{half}.{place.removesuffix('.py').replace('/', '.')}": place for place in modules(half)
    }
    return {dotted[name] for name in imported(path) & dotted.keys()}


def _imported(tree: ast.Module, path: Path) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, path
            assert not node.level, path
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
