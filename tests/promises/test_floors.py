"""The order of the rooms: layer/README.md tells it, and the imports keep it."""

import re
from pathlib import Path
from typing import Final

import pytest

from support import source_tree
from support.paths import LAYER, ROOT

HEAVY: Final = {"torch", "transformers", "optimum", "tensorflow", "pandas", "scipy"}
WAYS_IN: Final = {"http", "queue", "direct"}


def reading_order(half: str) -> list[str]:
    """The modules of a half in the order of layer/README.md, from the first column of its table."""
    section = (LAYER / "README.md").read_text("utf-8").split("\n## Reading order\n")[1]
    tables = re.split(r"^\| \w+ time, ", section.split("\n## ")[0], flags=re.MULTILINE)
    (table,) = [text for text in tables if text.startswith(f"`{half}/`")]

    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [place for cell in cells for place in re.findall(r"`([\w/]+\.py)`", cell)]


def room(place: str) -> str:
    """The package of a module, or its own name where it stands in none."""
    return place.split("/", maxsplit=1)[0].removesuffix(".py")


@pytest.mark.parametrize("half", source_tree.HALVES)
def test_every_module_stands_once_in_the_reading_order(half: str) -> None:
    assert sorted(reading_order(half)) == sorted(source_tree.modules(half))


@pytest.mark.parametrize("half", source_tree.HALVES)
def test_every_module_imports_only_what_was_read_before(half: str) -> None:
    order = reading_order(half)
    for number, place in enumerate(order):
        ours = source_tree.imported_of(half, LAYER / half / place)
        assert ours <= set(order[:number]), f"{place} reaches down"


@pytest.mark.parametrize("half", source_tree.HALVES)
def test_every_room_is_read_in_one_go(half: str) -> None:
    """With the order of the modules this gives the rooms one too: no two import each other."""
    visits = [room(place) for place in reading_order(half)]
    entered = [here for before, here in zip(["", *visits], visits, strict=False) if here != before]
    assert len(entered) == len(set(entered))


def test_the_ways_in_know_nothing_of_each_other() -> None:
    for place, path in source_tree.modules("fillmask").items():
        if room(place) in WAYS_IN:
            others = {room(other) for other in source_tree.imported_of("fillmask", path)}
            assert others & WAYS_IN <= {room(place)}, place


def test_the_run_time_knows_nothing_of_the_builder() -> None:
    for path in [source_tree.HANDLER, *source_tree.modules("fillmask").values()]:
        assert not source_tree.imported_of("builder", path), path


@pytest.mark.parametrize("path", source_tree.shipped(), ids=lambda path: path.stem)
def test_nothing_heavy_is_imported(path: Path) -> None:
    assert not {name.split(".")[0] for name in source_tree.imported(path)} & HEAVY


def test_packages_import_nothing_of_ours_which_would_hide_an_arrow() -> None:
    for path in source_tree.packages():
        for half in source_tree.HALVES:
            assert not source_tree.imported_of(half, path), path.relative_to(ROOT)
