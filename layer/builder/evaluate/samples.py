"""The user's data: cloze questions, plain sentences, or pairs of sentences, told by their form.

    {"text": "画龙点[MASK]", "accept": ["睛"], "kind": "idiom"}    a cloze question
    {"a": "怎么退款", "b": "我想退货", "label": 1}                 a pair, and how alike it is
    今天天气很好。                                                a sentence, to be masked

One a line, in UTF-8; blank lines are skipped. A file holds samples of one form. Both forms of JSON
take a "kind", by which the scores are grouped.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

MASK: Final = "[MASK]"


class DataError(Exception):
    """A file that cannot be evaluated; names the line and what is wrong, never its text."""


class Cloze(NamedTuple):
    """A text with one mask, and the tokens that are right there."""

    text: str
    accept: list[str]
    kind: str


class Pair(NamedTuple):
    """Two texts and their similarity, on whatever scale the file has."""

    a: str
    b: str
    label: float
    kind: str


class Samples(NamedTuple):
    """What a file holds; exactly one of the lists has members."""

    cloze: list[Cloze]
    pairs: list[Pair]
    sentences: list[str]


def read(file: Path) -> Samples:
    """The samples of a file. Raises DataError or OSError."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{file} is not UTF-8.") from None

    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    filled = [(number, line) for number, line in lines if line]
    if not filled:
        raise DataError(f"{file} is empty.")
    if not filled[0][1].startswith("{"):
        return Samples([], [], [line for _, line in filled])

    rows = list(_rows(file, filled))
    if "accept" in rows[0][1]:
        return Samples([_cloze(file, *row) for row in rows], [], [])
    return Samples([], [_pair(file, *row) for row in rows], [])


def _rows(file: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise DataError(f"{file}, line {number} is not JSON.") from None
        if not isinstance(row, dict):
            raise DataError(f"{file}, line {number} is not a JSON object.")
        yield number, row


def _cloze(file: Path, number: int, row: dict[str, Any]) -> Cloze:
    text, accept = row.get("text"), row.get("accept")
    if not isinstance(text, str) or text.count(MASK) != 1:
        raise DataError(f'{file}, line {number}: "text" must be a string with one {MASK}.')
    if not isinstance(accept, list) or not accept or not all(isinstance(t, str) for t in accept):
        raise DataError(f'{file}, line {number}: "accept" must be a list of strings, one at least.')
    return Cloze(text, accept, str(row.get("kind", "all")))


def _pair(file: Path, number: int, row: dict[str, Any]) -> Pair:
    a, b, label = row.get("a"), row.get("b"), row.get("label")
    if not isinstance(a, str) or not isinstance(b, str):
        raise DataError(f'{file}, line {number}: needs "text" and "accept", or "a", "b", "label".')
    if isinstance(label, bool) or not isinstance(label, int | float) or not math.isfinite(label):
        raise DataError(f'{file}, line {number}: "label" must be a number.')
    return Pair(a, b, float(label), str(row.get("kind", "all")))
