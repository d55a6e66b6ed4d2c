"""An evaluation as a table or as JSON."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import Final

from builder.evaluate.cloze import Score
from builder.evaluate.pairs import PairScore
from builder.evaluate.run import Evaluation

KIND_WIDTH: Final = 14
CELL_WIDTH: Final = 12


def as_json(found: Evaluation) -> str:
    """Every number, unrounded."""
    return json.dumps(asdict(found), ensure_ascii=False, indent=1)


def as_text(found: Evaluation) -> str:
    """A table by kind; then the agreement with float32, and what was left out."""
    lines = [f"{found.model}, {found.digest[:19]}", *_table("int8", found.scores)]
    if found.float32:
        lines += ["", *_table("float32", found.float32)]
    if found.agreement:
        lines += ["", "int8 against float32"]
        lines += [f"  {name} {value:.5g}" for name, value in asdict(found.agreement).items()]
    if found.skipped:
        lines += ["", f"{found.skipped} left out: no accepted answer is one token of this model"]
    return "\n".join([*lines, "", f"{found.seconds:.2f} s"])


def _table(name: str, scores: Mapping[str, Score | PairScore]) -> Iterator[str]:
    rows = list(scores.items())
    columns = [field.name for field in fields(rows[0][1])]
    yield f"{name:<{KIND_WIDTH}}" + "".join(f"{column:>{CELL_WIDTH}}" for column in columns)
    for kind, score in rows:
        values = [getattr(score, column) for column in columns]
        yield f"{kind:<{KIND_WIDTH}}" + "".join(f"{_cell(value):>{CELL_WIDTH}}" for value in values)


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.4f}"
