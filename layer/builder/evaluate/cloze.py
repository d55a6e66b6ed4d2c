"""Cloze accuracy: how often the accepted tokens come first, among the first five, and how early."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from builder.evaluate.samples import Cloze
from builder.model import verify
from builder.model.progress import Progress
from fillmask.model.contract import Engine, Query
from fillmask.model.text import TextCodec
from fillmask.operations import pieces
from fillmask.operations.passages import Cutter

RANKED: Final = 100  # candidates that are looked at: a right answer behind them counts as none
BATCH: Final = 64  # questions a run, for the progress to move


class Question(NamedTuple):
    """A masked text as the model takes it, and the ids that are right."""

    query: Query
    accept: frozenset[int]
    kind: str


@dataclass(frozen=True)
class Score:
    """Of a number of questions: shares of 1, and the mean of 1 / rank of the first right one."""

    questions: int
    top1: float
    top5: float
    mrr: float


def ask(samples: Sequence[Cloze], codec: TextCodec, engine: Engine) -> tuple[list[Question], int]:
    """The questions that can be answered with a token, and the number of those that cannot.

    An accepted answer of several tokens, or that the vocabulary lacks, can never come first.
    """
    lowercase, unknown = engine.manifest.lowercase, engine.manifest.special.unknown
    cutter = Cutter(codec, engine.manifest)
    questions = []
    for sample in samples:
        encoded = codec.encode(sample.text, lowercase)
        accept = pieces.split(sample.accept, codec, lowercase, unknown).single
        if len(encoded.masks) != 1 or not accept:
            continue

        (window,) = cutter.passage(encoded).windows
        query = cutter.query(encoded.ids, window, encoded.masks)
        questions.append(Question(query, frozenset(accept), sample.kind))
    return questions, len(samples) - len(questions)


def blanks(
    sentences: Sequence[str], codec: TextCodec, engine: Engine, every: int
) -> list[Question]:
    """One token in `every` of each sentence, masked in a question of its own.

    A token that the vocabulary lacks can never be right, and is not asked for.
    """
    asked = verify.masked(sentences, codec, engine.manifest, every)
    unknown = engine.manifest.special.unknown
    return [
        Question(query, frozenset([token]), "all") for query, token in asked if token != unknown
    ]


def score(questions: Sequence[Question], engine: Engine, progress: Progress) -> dict[str, Score]:
    """By kind, and last of all under "all" if there are several."""
    ranks: dict[str, list[int | None]] = {}
    for question, rank in zip(questions, _ranks(questions, engine, progress), strict=True):
        ranks.setdefault(question.kind, []).append(rank)

    scores = {kind: _score(found) for kind, found in ranks.items()}
    if len(scores) > 1:
        scores["all"] = _score([rank for found in ranks.values() for rank in found])
    return scores


def _ranks(
    questions: Sequence[Question], engine: Engine, progress: Progress
) -> Iterator[int | None]:
    """The place of the first right candidate of each question, from 1; None where there is none."""
    k = min(RANKED, engine.manifest.vocabulary)
    for start in range(0, len(questions), BATCH):
        batch = questions[start : start + BATCH]
        queries = [question.query for question in batch]
        answers = engine.predict(queries, k, subwords=False, targets=[])
        for question, (prediction,) in zip(batch, answers, strict=True):
            places = enumerate(prediction.tokens, 1)
            yield next((place for place, token in places if token in question.accept), None)
        progress.advance(len(batch))


def _score(ranks: Sequence[int | None]) -> Score:
    count = len(ranks)
    found = [rank for rank in ranks if rank is not None]
    return Score(
        questions=count,
        top1=sum(rank == 1 for rank in found) / count,
        top5=sum(rank <= 5 for rank in found) / count,
        mrr=sum(1 / rank for rank in found) / count,
    )
