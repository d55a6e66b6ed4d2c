"""The README's tables against the code: settings, errors, limits."""

import re
from typing import Final

from fillmask import limits
from fillmask.problem import TABLE
from fillmask.settings import ROWS
from support.paths import ROOT

README: Final = (ROOT / "README.md").read_text("utf-8")


def rows(title: str) -> list[list[str]]:
    """The cells of the tables in a section of the README, without heads."""
    section = README.split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = re.findall(r"^\| `.*\|$", section, re.MULTILINE)
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]


def test_settings() -> None:
    told = {variable: default for variable, default, _ in rows("Settings")}
    assert told == {row.variable: row.default for row in ROWS}


def test_errors() -> None:
    told = {code: int(status) for code, status, _ in rows("Errors")}
    assert told == {code: status for code, (status, _) in TABLE.items()}


def test_limits() -> None:
    told = {name: int(number) for name, number, _ in rows("Limits")}
    assert told == limits.TABLE
