"""Joint mode: fillings of all masks of a text together, by beam search."""

from collections.abc import Sequence
from math import exp
from typing import NamedTuple

from fillmask.model.contract import Engine, Prediction, Query
from fillmask.operations.answers import Filling
from fillmask.operations.passages import Cutter, Passage
from fillmask.requests.native import Options


class Partial(NamedTuple):
    """The first masks of a text filled: the log-probability of that, and a token for each."""

    score: float
    tokens: tuple[int, ...]


def search(
    engine: Engine,
    cutter: Cutter,
    passages: Sequence[Passage],
    options: Options,
    allowed: Sequence[int],
) -> list[list[Filling]]:
    """The best fillings of each text, up to `top_k`, best first.

    Masks are filled from left to right: P(first) P(second | first) ... With targets, only the
    tokens `allowed` fill a mask. All partial fillings of a step run as one batch.
    """
    beams = [[Partial(0.0, ())] for _ in passages]

    for step in range(max(len(passage.text.masks) for passage in passages)):
        active = [index for index, passage in enumerate(passages) if step < len(passage.text.masks)]
        queries = [
            _query(cutter, passages[index], partial) for index in active for partial in beams[index]
        ]
        answers = iter(
            engine.predict(queries, options.beam_width, options.include_subwords, allowed)
        )

        for index in active:
            grown: list[Partial] = []
            for partial in beams[index]:
                (prediction,) = next(answers)
                grown += _extended(partial, prediction, allowed if options.targets else None)

            # Among equal scores the smaller ids come first, so that the order is always the same.
            grown.sort(key=lambda partial: (-partial.score, partial.tokens))
            beams[index] = grown[: options.beam_width]

    return [
        [Filling(list(partial.tokens), exp(partial.score)) for partial in beam[: options.top_k]]
        for beam in beams
    ]


def _query(cutter: Cutter, passage: Passage, partial: Partial) -> Query:
    """What is asked for the first mask that is not filled yet."""
    masks = passage.text.masks
    mask = len(partial.tokens)

    ids = list(passage.text.ids)
    for position, token in zip(masks[:mask], partial.tokens, strict=True):
        ids[position] = token

    return cutter.query(ids, passage.window_of(mask), [masks[mask]])


def _extended(
    partial: Partial, prediction: Prediction, allowed: Sequence[int] | None
) -> list[Partial]:
    """The partial filling with one more mask filled: by each allowed token, or each candidate."""
    if allowed is None:
        choices = zip(prediction.tokens, prediction.scores, strict=True)
    else:
        choices = zip(allowed, prediction.targets, strict=True)

    return [Partial(partial.score + score, (*partial.tokens, token)) for token, score in choices]
