"""Compares an INT8 model with the float32 graph of the same checkpoint, in the engine that serves.

At blanks of CC0 sentences (builder/data): how often the first candidate is the same, how many of
the first five are, and the mean Kullback-Leibler divergence. For an encoder without a head, the
cosines between both models' embeddings of the sentences.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from builder.model.progress import Progress
from fillmask.model.contract import TARGET_SCORES, Query
from fillmask.model.feeds import MAX_RUN_MASKS, encoder_feeds, head_feeds, plan_runs
from fillmask.model.manifest import Manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.embed import Embedder, Embedding, similarity

DATA: Final = Path(__file__).parents[1] / "data"
BEST: Final = 5  # candidates that are compared
BLANK_EVERY: Final = 7  # one blank in so many tokens of a sentence

MARGIN: Final = 0.1  # nats; below it two candidates are as good as tied
NEAR_TIE: Final = 0.005  # of a cosine; below it two neighbours are as near

LogProbabilities = npt.NDArray[np.float32]  # [vocabulary]


@dataclass(frozen=True)
class Agreement:
    """How well a model follows another one at the blanks: shares of 1, and nats."""

    blanks: int
    top1_agreement: float  # the first candidate is the same
    top5_overlap: float  # of the first five
    mean_kl: float
    clear_misses: int  # blanks where float32 prefers its own first candidate by more than MARGIN


@dataclass(frozen=True)
class Cosines:
    """Between two models' embeddings of each sentence."""

    sentences: int
    mean_cosine: float
    least_cosine: float
    nearest_agreement: float  # share of the sentences whose nearest other one is as near to float32


def sentences() -> list[str]:
    """The CC0 sentences; the embedded model was not trained on them."""
    return (DATA / "sentences-cc0.txt").read_text(encoding="utf-8").splitlines()


def blanks(codec: TextCodec, described: Manifest) -> list[Query]:
    """Every seventh token of every CC0 sentence, each masked in a query of its own."""
    return [query for query, _ in masked(sentences(), codec, described, BLANK_EVERY)]


def masked(
    texts: Iterable[str], codec: TextCodec, described: Manifest, every: int
) -> Iterator[tuple[Query, int]]:
    """One token in `every` of each text, masked in a query of its own; and the token itself."""
    special = described.special
    for text in texts:
        ids = codec.encode(text, described.lowercase).ids[: described.capacity]
        for index in range(every // 2, len(ids), every):
            rest = [*ids[:index], special.mask, *ids[index + 1 :]]
            yield Query(special.enclose(rest), [index + 1]), ids[index]


def agreement(ours: OnnxEngine, exact: OnnxEngine, queries: list[Query]) -> Agreement:
    """How well `ours` follows `exact` on queries of one position each."""
    same_first = overlap = divergence = 0.0
    clear_misses = 0
    both = zip(_scores(exact, queries), _scores(ours, queries), strict=True)
    progress = Progress("comparing", len(queries))
    for p, q in both:
        progress.advance(1)
        same_first += float(p.argmax() == q.argmax())
        clear_misses += int(p.max() - p[q.argmax()] > MARGIN)
        overlap += len(_best(p) & _best(q)) / BEST
        divergence += float(np.sum(np.exp(p, dtype=np.float64) * (p.astype(np.float64) - q)))

    count = len(queries)
    return Agreement(
        blanks=count,
        top1_agreement=round(same_first / count, 4),
        top5_overlap=round(overlap / count, 4),
        mean_kl=round(divergence / count, 6),
        clear_misses=clear_misses,
    )


def embeddings(ours: OnnxEngine, exact: OnnxEngine, codec: TextCodec) -> Cosines:
    """The cosines between both models' embeddings of the sentences."""
    texts = sentences()
    vectors, exact_vectors = (
        Embedder(engine, codec).embed(texts, texts) for engine in (ours, exact)
    )
    return cosines(vectors, exact_vectors)


def cosines(vectors: Sequence[Embedding], exact: Sequence[Embedding]) -> Cosines:
    """The cosines between two models' embeddings of the same texts."""
    pairs = zip(vectors, exact, strict=True)
    values = np.array([similarity([one], [other]) for one, other in pairs])
    return Cosines(
        sentences=len(vectors),
        mean_cosine=round(float(values.mean()), 5),
        least_cosine=round(float(values.min()), 5),
        nearest_agreement=round(_nearest_agreement(vectors, exact), 4),
    )


def _nearest_agreement(vectors: Sequence[Embedding], exact: Sequence[Embedding]) -> float:
    """See Cosines."""
    ours, theirs = _similarities(vectors), _similarities(exact)
    found = np.take_along_axis(theirs, ours.argmax(axis=1)[:, None], axis=1)[:, 0]
    return float(np.mean(theirs.max(axis=1) - found <= NEAR_TIE))


def _similarities(vectors: Sequence[Embedding]) -> npt.NDArray[np.float32]:
    """Of each pair of different vectors: [vectors, vectors]."""
    rows = np.array([vector.vector for vector in vectors])
    similarities: npt.NDArray[np.float32] = rows @ rows.T
    np.fill_diagonal(similarities, -1)
    return similarities


def _scores(engine: OnnxEngine, queries: list[Query]) -> Iterator[LogProbabilities]:
    """The log-probabilities at each query's position, in an order that depends on lengths alone."""
    vocabulary = np.arange(engine.manifest.vocabulary)
    for run in plan_runs(queries, MAX_RUN_MASKS):
        for index in run:
            head = head_feeds(1, subwords=True, k=1, targets=vocabulary)
            (scores,) = engine.run((TARGET_SCORES,), encoder_feeds([queries[index]]) | head)
            yield scores[0]


def _best(scores: LogProbabilities) -> set[int]:
    return set(np.argpartition(-scores, BEST)[:BEST])
