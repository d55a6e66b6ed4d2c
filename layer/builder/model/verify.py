"""Prove an INT8 file against the float32 graph of the same checkpoint, with the engine that will serve it.

On fixed sentences (builder/data): top-1 agreement, top-5 overlap and mean Kullback-Leibler divergence at
blanks of CC0 sentences, and the accuracy of both on cloze probes, by kind. For an encoder without a head, the
cosines between both files' embeddings of the sentences.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from builder.checkpoint.reading import CheckpointError
from fillmask.model.contract import TARGET_SCORES, Query
from fillmask.model.feeds import MAX_RUN_MASKS, encoder_feeds, head_feeds, plan_runs
from fillmask.model.manifest import Manifest
from fillmask.model.manifest import Special
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.embed import Embedder, similarity

DATA = Path(__file__).parents[1] / "data"
BEST = 5  # candidates that are compared
BLANK_EVERY = 7  # one blank in so many tokens of a sentence


class Probe(NamedTuple):
    """A sentence with one mask and the tokens that are right there."""

    text: str
    accept: list[str]
    kind: str
    half: str = "open"  # or "held-back": not to be scored while a model is still being made


def probes(file: Path = DATA / "cloze-probes.jsonl") -> list[Probe]:
    """The hand-made cloze probes, or those of another file of the same form."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [Probe(**json.loads(line)) for line in lines]


def check_room(codec: TextCodec, described: Manifest) -> None:
    """Raise CheckpointError where a model is too small for what proves it."""
    longest = max(len(codec.encode(probe.text, described.lowercase).ids) for probe in probes()) + 2
    if described.max_tokens < longest:
        raise CheckpointError(
            f"The checkpoint has {described.max_tokens} positions, and the probes that prove a "
            f"fill-mask model take {longest}."
        )
    if described.vocabulary <= BEST:
        raise CheckpointError(
            f"The checkpoint's vocabulary of {described.vocabulary} tokens holds no candidates."
        )


def sentences() -> list[str]:
    """The CC0 sentences; no embedded model was trained on them."""
    return (DATA / "sentences-cc0.txt").read_text(encoding="utf-8").splitlines()


def blanks(codec: TextCodec, lowercase: bool, special: Special, most: int) -> list[Query]:
    """Every seventh token of every sentence, each masked in a query of its own."""
    queries = []
    for sentence in sentences():
        ids = codec.encode(sentence, lowercase).ids[: most - 2]
        for index in range(BLANK_EVERY // 2, len(ids), BLANK_EVERY):
            masked = [*ids[:index], special.mask, *ids[index + 1 :]]
            queries.append(Query(special.enclose(masked), [index + 1]))
    return queries


def distributions(
    engine: OnnxEngine, queries: list[Query]
) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
    """(index of a query, its log-probabilities [vocabulary]) for queries of one position each."""
    everything = np.arange(engine.manifest.vocabulary)
    for run in plan_runs(queries, MAX_RUN_MASKS):
        for index in run:
            head = head_feeds(1, subwords=True, k=1, targets=everything)
            (scores,) = engine.run((TARGET_SCORES,), encoder_feeds([queries[index]]) | head)
            yield index, scores[0]


def agreement(ours: OnnxEngine, yardstick: OnnxEngine, queries: list[Query]) -> dict[str, float]:
    """How well `ours` follows the yardstick: shares of 1 and a mean divergence in nats."""
    top1 = top5 = divergence = 0.0
    for (_, p), (_, q) in zip(
        distributions(yardstick, queries), distributions(ours, queries), strict=True
    ):
        best_p, best_q = np.argpartition(-p, BEST)[:BEST], np.argpartition(-q, BEST)[:BEST]
        top1 += float(p.argmax() == q.argmax())
        top5 += len(set(best_p) & set(best_q)) / BEST
        divergence += float(np.sum(np.exp(p, dtype=np.float64) * (p.astype(np.float64) - q)))
    count = len(queries)
    return {
        "blanks": count,
        "top1_agreement": round(top1 / count, 4),
        "top5_overlap": round(top5 / count, 4),
        "mean_kl": round(divergence / count, 6),
    }


def probe_report(engine: OnnxEngine, codec: TextCodec, asked: Sequence[Probe]) -> dict[str, Any]:
    """By kind: how many of the probes asked, and how many are right in the first and in the first
    five candidates; `right` lists the probes (by number) whose first candidate is right."""
    special, lowercase = engine.manifest.special, engine.manifest.lowercase
    kinds: dict[str, dict[str, int]] = {}
    right = []
    for number, probe in enumerate(asked):
        encoded = codec.encode(probe.text, lowercase)
        query = Query(special.enclose(encoded.ids), [encoded.masks[0] + 1])
        tokens = [
            codec.token(token) for token in engine.predict([query], 5, False, [])[0][0].tokens
        ]
        row = kinds.setdefault(probe.kind, {"probes": 0, "top1": 0, "top5": 0})
        row["probes"] += 1
        row["top1"] += tokens[0] in probe.accept
        row["top5"] += any(token in probe.accept for token in tokens)
        right += [number] if tokens[0] in probe.accept else []
    return {"kinds": kinds, "right": right}


def totals(report: dict[str, Any]) -> tuple[int, int, int]:
    """Of all kinds of a probe report: probes, right in the first candidate, right in the first five."""
    count, top1, top5 = (
        sum(row[name] for row in report["kinds"].values()) for name in ("probes", "top1", "top5")
    )
    return count, top1, top5


def embeddings(ours: OnnxEngine, yardstick: OnnxEngine, codec: TextCodec) -> dict[str, float]:
    """Cosines of the two engines' embeddings of each sentence."""
    texts = sentences()
    pairs = zip(
        *(Embedder(engine, codec).answer(texts, texts) for engine in (ours, yardstick)), strict=True
    )
    cosines = np.array([similarity([one], [other]) for one, other in pairs])
    return {
        "sentences": len(texts),
        "mean_cosine": round(float(cosines.mean()), 5),
        "least_cosine": round(float(cosines.min()), 5),
    }
