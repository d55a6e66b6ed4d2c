"""The answer for one text with masks, as types that hold no character of the caller's text.

Scores, token ids and offsets are all there is, so an answer may be cached as it is; render.py puts
the text around it again.
"""

import json
from typing import Any, NamedTuple

from fillmask.model.text import Stretch
from fillmask.requests import json_text
from fillmask.requests.json_text import JsonObject


class Candidate(NamedTuple):
    """A token that may stand in a mask's place."""

    token: int
    score: float  # a probability over the whole vocabulary


class ScoredTarget(NamedTuple):
    """A word of the caller's choice in a mask's place; `reason` says why it has no score."""

    pieces: list[int]  # token ids; empty where there is no score
    score: float | None  # the probability of all pieces, one after the other
    reason: str | None = None  # "mask", "unknown", "empty" or "too_long"


class Extent(NamedTuple):
    """A part of the text: offsets [start, end) in code points."""

    start: int
    end: int


class FilledMask(NamedTuple):
    """One mask: where it stands, and its likeliest tokens or the targets, whichever was asked."""

    span: Extent
    window: Extent | None  # the part of the text that the model saw; None: all of it
    candidates: list[Candidate]  # highest score first
    targets: list[ScoredTarget]  # in the order of the request


class Filling(NamedTuple):
    """All masks of a text filled together: a token for each, and their joint probability."""

    tokens: list[int]
    score: float


class FilledText(NamedTuple):
    """The answer for one text."""

    tokens: int  # [CLS] and [SEP] included
    masks: list[FilledMask]
    fillings: list[Filling] | None  # None unless in joint mode
    unknown: list[Stretch]

    def pack(self) -> bytes:
        """JSON for a cache: numbers read back bit for bit, and a named tuple becomes a list."""
        content = self._asdict() | {"masks": [_mask_content(mask) for mask in self.masks]}
        return json_text.write(content).encode()

    @classmethod
    def unpack(cls, value: bytes) -> "FilledText":
        """What `pack` made; raises ValueError, KeyError or TypeError for anything else."""
        content = json.loads(value)
        if not isinstance(content, dict):
            raise TypeError("not a packed answer")

        fillings = content["fillings"]
        return cls(
            tokens=content["tokens"],
            masks=[_mask(mask) for mask in content["masks"]],
            fillings=None if fillings is None else [Filling(*row) for row in fillings],
            unknown=[Stretch(*row) for row in content["unknown"]],
        )


def _mask_content(mask: FilledMask) -> JsonObject:
    return {
        "window": mask.window,
        "candidates": mask.candidates or [_target_content(target) for target in mask.targets],
        "start": mask.span.start,
        "end": mask.span.end,
    }


def _target_content(target: ScoredTarget) -> JsonObject:
    content: JsonObject = {"pieces": target.pieces, "score": target.score}
    if target.reason:
        content["reason"] = target.reason
    return content


def _mask(content: dict[str, Any]) -> FilledMask:
    rows, window = content["candidates"], content["window"]
    return FilledMask(
        span=Extent(content["start"], content["end"]),
        window=None if window is None else Extent(*window),
        candidates=[Candidate(*row) for row in rows if isinstance(row, list)],
        targets=[ScoredTarget(**row) for row in rows if isinstance(row, dict)],
    )
