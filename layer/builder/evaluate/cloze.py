"""Cloze accuracy: how often the accepted tokens come first, among the first five, and how early."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from builder.evaluate.samples import Cloze
from builder.model.progress import Progress
from fillmask.model.contract import Engine, Query
from fillmask.model.text import TextCodec
from fillmask.model.windows import plan

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
    described = engine.manifest
    questions = []
    for sample in samples:
        encoded = codec.encode(sample.text, described.lowercase)
        accept = {codec.encode(word, described.lowercase).ids[0] for word in _single(sample, codec)}
        accept.discard(described.special.unknown)
        if len(encoded.masks) != 1 or not accept:
            continue

        (mask,) = encoded.masks
        ends = codec.sentence_ends(encoded.ids)
        (window,) = plan(len(encoded.ids), [(mask, mask)], described.capacity, ends)
        inside = encoded.ids[window.start : window.end]
        query = Query(described.special.enclose(inside), [mask - window.start + 1])
        questions.append(Question(query, frozenset(accept), sample.kind))
    return questions, len(samples) - len(questions)


def blanks(
    sentences: Sequence[str], codec: TextCodec, engine: Engine, every: int
) -> list[Question]:
    """Every so-manieth token of each sentence, masked in a question of its own."""
    described, special = engine.manifest, engine.manifest.special
    questions = []
    for sentence in sentences:
        ids = codec.encode(sentence, described.lowercase).ids[: described.capacity]
        for index in range(every // 2, len(ids), every):
            if ids[index] == special.unknown:
                continue
            masked = [*ids[:index], special.mask, *ids[index + 1 :]]
            query = Query(special.enclose(masked), [index + 1])
            questions.append(Question(query, frozenset([ids[index]]), "all"))
    return questions


def score(questions: Sequence[Question], engine: Engine, progress: Progress) -> dict[str, Score]:
    """By kind, and last of all under "all" if there are several."""
    ranks: dict[str, list[int | None]] = {}
    for question, rank in zip(questions, _ranks(questions, engine, progress), strict=True):
        ranks.setdefault(question.kind, []).append(rank)

    scores = {kind: _score(found) for kind, found in ranks.items()}
    if len(scores) > 1:
        scores["all"] = _score([rank for found in ranks.values() for rank in found])
    return scores


def _single(sample: Cloze, codec: TextCodec) -> Iterator[str]:
    """The accepted words that are one token."""
    for word in sample.accept:
        encoded = codec.encode(word, lowercase=False)
        if len(encoded.ids) == 1 and not encoded.masks:
            yield word


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
