"""How well cosines of embeddings follow labels: Spearman's correlation, and AUC for two labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from builder.evaluate.samples import Pair
from fillmask.model.contract import Engine
from fillmask.model.text import TextCodec
from fillmask.operations.embed import Embedder, Embedding, similarity

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PairScore:
    """Of a number of pairs. Where all labels are alike, there is nothing to follow: None."""

    pairs: int
    spearman: float | None
    auc: float | None  # with two labels: how often an alike pair has the higher cosine
    mean_cosine: float


def embed(samples: Sequence[Pair], codec: TextCodec, engine: Engine) -> list[Embedding]:
    """The embeddings of all first texts, then of all second ones."""
    texts = [*(pair.a for pair in samples), *(pair.b for pair in samples)]
    names = [f"{side} of pair {n}" for side in "ab" for n in range(1, len(samples) + 1)]
    return Embedder(engine, codec).embed(texts, names)


def score(samples: Sequence[Pair], embeddings: Sequence[Embedding]) -> dict[str, PairScore]:
    """By kind, and last of all under "all" if there are several."""
    half = len(samples)
    pairs = zip(embeddings[:half], embeddings[half:], strict=True)
    cosines = np.array([similarity([a], [b])[0][0] for a, b in pairs])
    labels = np.array([pair.label for pair in samples])

    kinds = list(dict.fromkeys(pair.kind for pair in samples))
    scores = {}
    for kind in kinds:
        chosen = np.array([pair.kind == kind for pair in samples])
        scores[kind] = _score(cosines[chosen], labels[chosen])
    if len(kinds) > 1:
        scores["all"] = _score(cosines, labels)
    return scores


def _score(cosines: Floats, labels: Floats) -> PairScore:
    values = np.unique(labels)
    differ = len(values) > 1 and len(np.unique(cosines)) > 1
    return PairScore(
        pairs=len(labels),
        spearman=_correlation(_ranks(cosines), _ranks(labels)) if differ else None,
        auc=_auc(cosines, labels == values[-1]) if len(values) == 2 else None,
        mean_cosine=float(cosines.mean()),
    )


def _ranks(values: Floats) -> Floats:
    """From 1; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean: Floats = (last - counts + 1 + last) / 2
    return mean[inverse]


def _correlation(x: Floats, y: Floats) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def _auc(cosines: Floats, alike: npt.NDArray[np.bool_]) -> float:
    """The Mann-Whitney form: a tie counts half."""
    ranks = _ranks(cosines)
    positives, negatives = int(alike.sum()), int((~alike).sum())
    wins = ranks[alike].sum() - positives * (positives + 1) / 2
    return float(wins / (positives * negatives))
