"""Whether a value from a cache can be the answer to a question: if not, it is a miss.

A shared table may hold torn, foreign or forged values. What does not fit the text and the options
that are asked for never reaches an answer. Imported with the first value that a cache has.
"""

import re
from collections.abc import Sequence
from math import isfinite
from typing import Final

from fillmask import limits
from fillmask.model.manifest import FRAME_TOKENS, Manifest
from fillmask.operations.answers import Extent, FilledMask, FilledText, ScoredTarget
from fillmask.requests.native import Options

# Canonical decomposition makes at most four code points of one, and a token has at least one.
TOKENS_PER_CHARACTER: Final = 4
MOST_PROBABLE: Final = 1.001  # exp() of a log-probability that float32 rounded up
NOT_SCORED: Final = ("mask", "unknown", "empty", "too_long")
NOT_SEEN: Final = ("unknown", "dropped")


def read(value: bytes, text: str, options: Options, manifest: Manifest) -> FilledText:
    """The answer that `FilledText.pack` made for this text and these options.

    Raises ValueError, KeyError, TypeError or RecursionError for anything else.
    """
    answer = FilledText.unpack(value)
    spans = [found.span() for found in re.finditer(re.escape(manifest.mask_token), text)]
    most_tokens = FRAME_TOKENS + TOKENS_PER_CHARACTER * len(text)

    _demand(_is_whole(answer.tokens, FRAME_TOKENS + len(spans), most_tokens))
    _demand([mask.span for mask in answer.masks] == spans)
    for mask in answer.masks:
        _check_mask(mask, text, options, manifest.vocabulary)

    _check_fillings(answer, options, manifest.vocabulary)
    _check_unknown(answer, text)
    return answer


def _demand(holds: bool) -> None:
    if not holds:
        raise ValueError("a stored answer does not fit its question")


def _check_mask(mask: FilledMask, text: str, options: Options, vocabulary: int) -> None:
    _demand(_is_whole(mask.span.start, 0) and _is_whole(mask.span.end, 0))
    if mask.window is not None:
        _check_extent(mask.window, 0, len(text))

    # With targets, nobody asked for candidates.
    most_candidates = 0 if options.targets else options.top_k
    _demand(len(mask.targets) == len(options.targets))
    _demand(min(1, most_candidates) <= len(mask.candidates) <= most_candidates)

    for candidate in mask.candidates:
        _demand(_are_ids([candidate.token], vocabulary) and _is_probability(candidate.score))
    for target in mask.targets:
        _check_target(target, vocabulary)


def _check_target(target: ScoredTarget, vocabulary: int) -> None:
    if target.score is None:
        _demand(target.pieces == [] and target.reason in NOT_SCORED)
        return

    _demand(target.reason is None and _is_probability(target.score))
    _demand(_are_ids(target.pieces, vocabulary) and 0 < len(target.pieces) <= limits.MAX_PIECES)


def _check_fillings(answer: FilledText, options: Options, vocabulary: int) -> None:
    _demand((answer.fillings is not None) == (options.mode == "joint"))

    fillings = answer.fillings or []
    _demand(len(fillings) <= options.top_k)
    for filling in fillings:
        _demand(_are_ids(filling.tokens, vocabulary) and _is_probability(filling.score))
        _demand(len(filling.tokens) == len(answer.masks))


def _check_unknown(answer: FilledText, text: str) -> None:
    """The stretches stand in the order of the text, and none overlaps the one before it."""
    end = 0
    for stretch in answer.unknown:
        _check_extent(Extent(stretch.start, stretch.end), end, len(text))
        _demand(stretch.reason in NOT_SEEN)
        end = stretch.end


def _check_extent(extent: Extent, least: int, most: int) -> None:
    _demand(_is_whole(extent.start, least, most) and _is_whole(extent.end, least, most))
    _demand(extent.start < extent.end)


def _are_ids(tokens: Sequence[int], vocabulary: int) -> bool:
    whole = isinstance(tokens, list)
    return whole and all(_is_whole(token, 0, vocabulary - 1) for token in tokens)


def _is_whole(number: int, least: int, most: int | None = None) -> bool:
    # JSON's true is an int for Python, and its 1.0 is equal to one.
    whole = type(number) is int and number >= least
    return whole and (most is None or number <= most)


def _is_probability(score: float) -> bool:
    return type(score) is float and isfinite(score) and 0 <= score <= MOST_PROBABLE
