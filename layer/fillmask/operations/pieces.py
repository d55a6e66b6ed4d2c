"""Targets: the words to score, and the scores of those that are several tokens long."""

from collections.abc import Sequence
from typing import NamedTuple

from fillmask import limits
from fillmask.model.contract import Engine
from fillmask.model.text import Encoded, TextCodec
from fillmask.operations.passages import Cutter

Pieces = tuple[int, ...]  # the token ids of a word


class Target(NamedTuple):
    """A word to score: its pieces, or the reason why there is nothing to score."""

    pieces: Pieces
    reason: str | None = None  # as in answers.ScoredTarget


class Targets(NamedTuple):
    """The targets of a request."""

    each: list[Target]  # in the order of the request
    single: list[int]  # the ids of those that are one token
    longer: list[Pieces]  # those that are several


class Trial(NamedTuple):
    """A word in the place of one mask of one text, both by index."""

    text: int
    mask: int
    word: Pieces


def split(words: Sequence[str], codec: TextCodec, lowercase: bool, unknown: int) -> Targets:
    """The pieces of each word; `unknown` is the id that stands for what has no token."""
    each = [_target(word, codec, lowercase, unknown) for word in words]
    distinct = sorted({target.pieces for target in each})

    return Targets(
        each=each,
        single=[word[0] for word in distinct if len(word) == 1],
        longer=[word for word in distinct if len(word) > 1],
    )


def score(
    engine: Engine, cutter: Cutter, texts: Sequence[Encoded], words: Sequence[Pieces]
) -> dict[Trial, float]:
    """The log-probability of each word in the place of each mask.

    A word of n pieces stands in a slot of n tokens, filled from left to right: the sum of
    log P(piece j | pieces before j, with the rest of the slot masked).
    """
    scores = {
        Trial(index, mask, word): 0.0
        for index, text in enumerate(texts)
        for mask in range(len(text.masks))
        for word in words
    }

    for step in range(max(map(len, words), default=0)):
        trials = [trial for trial in scores if step < len(trial.word)]
        pieces = sorted({trial.word[step] for trial in trials})

        # Words of one length that begin alike ask the model the same question.
        questions = {trial: _question(trial, step) for trial in trials}
        distinct = list(dict.fromkeys(questions.values()))
        queries = [
            cutter.slot_query(texts[text], mask, length, filled)
            for text, mask, length, filled in distinct
        ]
        answers = dict(zip(distinct, engine.predict(queries, 1, True, pieces), strict=True))

        for trial, question in questions.items():
            (prediction,) = answers[question]
            scores[trial] += prediction.targets[pieces.index(trial.word[step])]

    return scores


def _target(word: str, codec: TextCodec, lowercase: bool, unknown: int) -> Target:
    # A continuation piece (##x) is named as the vocabulary names it.
    continuation = codec.piece_id(word)
    if continuation is not None:
        return Target((continuation,))

    encoded = codec.encode(word, lowercase)
    # A word that the vocabulary has and its tokenizer takes apart, such as WoBERT's Chinese words.
    whole = codec.word_id(word)
    if whole is not None and (len(encoded.ids) != 1 or unknown in encoded.ids):
        return Target((whole,))

    reason = _reason(encoded, unknown)
    return Target((), reason) if reason else Target(tuple(encoded.ids))


def _reason(encoded: Encoded, unknown: int) -> str | None:
    """Why a word cannot be scored, or None."""
    if encoded.masks:
        return "mask"
    if unknown in encoded.ids:
        return "unknown"
    if not encoded.ids:
        return "empty"
    return "too_long" if len(encoded.ids) > limits.MAX_PIECES else None


def _question(trial: Trial, step: int) -> tuple[int, int, int, Pieces]:
    """The text, the mask, the length of the slot and what fills its beginning."""
    return trial.text, trial.mask, len(trial.word), trial.word[:step]
