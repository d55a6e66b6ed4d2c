"""Answers for encoded texts: independent masks, targets of one or several pieces, joint fillings.

Works on token ids. What comes out is a plain JSON value without a character of the caller's text (scores,
ids, offsets), so it can be cached as it is; render.py puts the text back in.
"""

import json
from collections.abc import Sequence
from math import exp
from typing import Any, NamedTuple

from fillmask import limits
from fillmask.errors import InvalidRequest
from fillmask.model.contract import Engine, Prediction, Query
from fillmask.model.text import Encoded, TextCodec
from fillmask.model.windows import Window, plan


class Options(NamedTuple):
    """What changes an answer beside the text: all of it is part of the cache key."""

    top_k: int
    targets: tuple[str, ...]
    mode: str
    lowercase: bool
    include_subwords: bool

    @property
    def beam(self) -> int:
        """Partial fillings kept after each mask in joint mode: twice what is asked for, 10 to 100."""
        return min(max(2 * self.top_k, 10), 100)


class Target(NamedTuple):
    """A word to score: its pieces, or the reason why there is nothing to score."""

    pieces: list[int]
    reason: str | None


class Slot(NamedTuple):
    """One mask of one text with the window that answers it."""

    text: int
    mask: int  # index among the text's masks
    window: Window


class Filler:
    """The fill-mask operation on one engine and its codec."""

    def __init__(self, engine: Engine, codec: TextCodec) -> None:
        self._engine, self._codec = engine, codec
        self._special = engine.manifest.special
        self._capacity = engine.manifest.capacity

    def answer(self, texts: Sequence[Encoded], options: Options) -> list[dict[str, Any]]:
        """One JSON value a text. Every text has a mask. Raises TooLarge before anything is computed."""
        targets = [self._target(target, options.lowercase) for target in options.targets]
        self._check(texts, targets, options)
        if (
            options.mode == "joint"
            and targets
            and all(len(target.pieces) != 1 for target in targets)
        ):
            raise InvalidRequest.of(
                "targets",
                "must have one that is a single token in joint mode: whole fillings "
                "are made of those",
                "The targets",
            )
        windows = [self._plan(text, [(mask, mask) for mask in text.masks]) for text in texts]
        slots = [
            Slot(number, mask, window)
            for number, planned in enumerate(windows)
            for window in planned
            for mask in window.slots
        ]
        single = sorted({target.pieces[0] for target in targets if len(target.pieces) == 1})
        predictions = self._independent(texts, windows, options, single)
        scored = self._in_pieces(texts, slots, targets)
        fillings = (
            self._joint(texts, windows, options, single)
            if options.mode == "joint"
            else [None] * len(texts)
        )
        masks: list[list[dict[str, Any]]] = [[] for _ in texts]
        for slot, prediction in zip(slots, predictions, strict=True):
            ones = dict(zip(single, prediction.targets, strict=True))
            ranking = zip(prediction.tokens, prediction.scores, strict=True)
            masks[slot.text].append(
                {
                    "token": texts[slot.text].masks[slot.mask],
                    "window": self._extent(texts[slot.text], slot.window),
                    "candidates": [self._scored(target, slot, ones, scored) for target in targets]
                    or [[token, exp(score)] for token, score in ranking],
                }
            )
        return [self._value(*row) for row in zip(texts, masks, fillings, strict=True)]

    def _check(self, texts: Sequence[Encoded], targets: Sequence[Target], options: Options) -> None:
        """Every pass of the model beyond the first is one of these."""
        masks = sum(len(text.masks) for text in texts)
        limits.check("total_masks", masks, "masks of the request")
        passes = masks * sum(len(target.pieces) for target in targets if len(target.pieces) > 1)
        if options.mode == "joint":
            for index, text in enumerate(texts):
                limits.check("joint_masks", len(text.masks), "masks in joint mode", index=index)
            passes += masks * options.beam
        limits.check(
            "passes", passes, "passes of the model for targets of several pieces and joint fillings"
        )

    def _target(self, target: str, lowercase: bool) -> Target:
        piece = self._codec.piece_id(target)
        if piece is not None:
            return Target([piece], None)
        encoded = self._codec.encode(target, lowercase)
        reasons = {
            "mask": bool(encoded.masks),
            "unknown": self._special.unknown in encoded.ids,
            "empty": not encoded.ids,
            "too_long": len(encoded.ids) > limits.MAX_PIECES,
        }
        reason = next((name for name, holds in reasons.items() if holds), None)
        return Target([] if reason else encoded.ids, reason)

    def _plan(self, text: Encoded, slots: Sequence[tuple[int, int]]) -> list[Window]:
        ends = self._codec.sentence_ends(text.ids) if len(text.ids) > self._capacity else []
        return plan(len(text.ids), slots, self._capacity, ends)

    def _query(self, ids: Sequence[int], window: Window, positions: Sequence[int]) -> Query:
        inside = self._special.enclose(ids[window.start : window.end])
        return Query(inside, [position - window.start + 1 for position in positions])

    def _independent(
        self,
        texts: Sequence[Encoded],
        windows: Sequence[Sequence[Window]],
        options: Options,
        single: Sequence[int],
    ) -> list[Prediction]:
        queries = [
            self._query(text.ids, window, [text.masks[mask] for mask in window.slots])
            for text, planned in zip(texts, windows, strict=True)
            for window in planned
        ]
        k = 1 if options.targets else options.top_k
        answers = self._engine.predict(queries, k, options.include_subwords, single)
        return [prediction for answer in answers for prediction in answer]

    def _in_pieces(
        self,
        texts: Sequence[Encoded],
        slots: Sequence[Slot],
        targets: Sequence[Target],
    ) -> dict[tuple[int, int, tuple[int, ...]], float]:
        """Log-probability of each target of n pieces in a slot of n masks, filled left to right: the sum of
        log P(piece j | pieces before j, the rest still masked). Keys: text, mask, pieces."""
        words = {tuple(target.pieces) for target in targets if len(target.pieces) > 1}
        scores = {(slot.text, slot.mask, word): 0.0 for slot in slots for word in sorted(words)}
        for step in range(max(map(len, words), default=0)):
            jobs = [key for key in scores if step < len(key[2])]
            asked = list(
                dict.fromkeys((text, mask, len(word), word[:step]) for text, mask, word in jobs)
            )
            queries = [
                self._slot_query(texts[text], mask, size, prefix)
                for text, mask, size, prefix in asked
            ]
            wanted = sorted({word[step] for _, _, word in jobs})
            found = dict(zip(asked, self._engine.predict(queries, 1, True, wanted), strict=True))
            for text, mask, word in jobs:
                prediction = found[text, mask, len(word), word[:step]][0]
                scores[text, mask, word] += prediction.targets[wanted.index(word[step])]
        return scores

    def _slot_query(self, text: Encoded, mask: int, size: int, prefix: tuple[int, ...]) -> Query:
        """The text with a slot of `size` masks in place of one, its first pieces filled in."""
        at = text.masks[mask]
        ids = [
            *text.ids[:at],
            *prefix,
            *[self._special.mask] * (size - len(prefix)),
            *text.ids[at + 1 :],
        ]
        (window,) = self._plan(text._replace(ids=ids), [(at, at + size - 1)])
        return self._query(ids, window, [at + len(prefix)])

    def _joint(
        self,
        texts: Sequence[Encoded],
        windows: Sequence[Sequence[Window]],
        options: Options,
        single: Sequence[int],
    ) -> list[Any]:
        """Beam search over the masks of each text, left to right: P(first) P(second | first) ...; all texts and
        beams of a step run as one batch. With targets, only those of one piece can fill."""
        beams: list[list[tuple[float, tuple[int, ...]]]] = [[(0.0, ())] for _ in texts]
        for step in range(max(len(text.masks) for text in texts)):
            jobs = [
                (number, beam)
                for number, text in enumerate(texts)
                if step < len(text.masks)
                for beam in beams[number]
            ]
            queries = [
                self._filled(texts[number], windows[number], step, filled)
                for number, (_, filled) in jobs
            ]
            answers = self._engine.predict(queries, options.beam, options.include_subwords, single)
            grown: dict[int, list[tuple[float, tuple[int, ...]]]] = {}
            for (number, (score, filled)), (prediction,) in zip(jobs, answers, strict=True):
                choices = (
                    zip(single, prediction.targets, strict=True)
                    if options.targets
                    else zip(prediction.tokens, prediction.scores, strict=True)
                )
                grown.setdefault(number, []).extend(
                    (score + more, (*filled, token)) for token, more in choices
                )
            for number, rows in grown.items():
                beams[number] = sorted(rows, key=lambda row: (-row[0], row[1]))[: options.beam]
        return [
            [[list(filled), exp(score)] for score, filled in rows[: options.top_k] if filled]
            for rows in beams
        ]

    def _filled(
        self, text: Encoded, planned: Sequence[Window], step: int, filled: tuple[int, ...]
    ) -> Query:
        ids = list(text.ids)
        for mask, token in zip(text.masks, filled, strict=False):
            ids[mask] = token
        window = next(window for window in planned if step in window.slots)
        return self._query(ids, window, [text.masks[step]])

    def _scored(
        self,
        target: Target,
        slot: Slot,
        single: dict[int, float],
        scored: dict[tuple[int, int, tuple[int, ...]], float],
    ) -> dict[str, Any]:
        if target.reason:
            return {"pieces": [], "score": None, "reason": target.reason}
        one = len(target.pieces) == 1
        score = (
            single[target.pieces[0]] if one else scored[slot.text, slot.mask, tuple(target.pieces)]
        )
        return {"pieces": target.pieces, "score": exp(score)}

    def _extent(self, text: Encoded, window: Window) -> list[int] | None:
        """Offsets of a window in the text; None when it is the whole text."""
        if window.end - window.start == len(text.ids):
            return None
        return [text.spans[window.start][0], text.spans[window.end - 1][1]]

    def _value(self, text: Encoded, masks: list[dict[str, Any]], fillings: Any) -> dict[str, Any]:
        for mask in masks:
            mask["start"], mask["end"] = text.spans[mask.pop("token")]
        return {
            "tokens": len(text.ids) + 2,
            "masks": masks,
            "fillings": fillings,
            "unknown": [list(stretch) for stretch in text.unknown],
        }


def unpack_filled(value: bytes) -> dict[str, Any]:
    """An answer out of a cache; raise ValueError when it is not one."""
    answer = json.loads(value)
    if not isinstance(answer, dict) or answer.keys() != {"tokens", "masks", "fillings", "unknown"}:
        raise ValueError("not a cached answer")
    return answer
