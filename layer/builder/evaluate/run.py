"""A model, and optionally its float32 form, on the samples of a file."""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from builder.checkpoint import hub
from builder.evaluate import cloze, pairs
from builder.evaluate.cloze import Question, Score
from builder.evaluate.pairs import PairScore
from builder.evaluate.samples import DataError, Pair, Samples
from builder.graph.precision import Float32
from builder.model import model_folder, verify
from builder.model.plan import draw_up
from builder.model.progress import Progress, say
from builder.model.verify import Agreement, Cosines
from fillmask.model import manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec


@dataclass(frozen=True)
class Evaluation:
    """What was found. `float32` and `agreement` are there when the checkpoint was named."""

    model: str
    digest: str
    scores: Mapping[str, Score | PairScore]
    float32: Mapping[str, Score | PairScore] | None
    agreement: Agreement | Cosines | None
    skipped: int  # questions without an accepted answer that is one token of this model
    seconds: float  # of the INT8 model alone


def evaluate(samples: Samples, model: Path, checkpoint: Path | None, every: int) -> Evaluation:
    """Score a model folder. Raises DataError, CheckpointError or EngineUnavailable."""
    ours, codec = _open(model)
    if checkpoint is None:
        return _evaluate(samples, ours, codec, None, every)
    with _float32(checkpoint, ours) as exact:
        return _evaluate(samples, ours, codec, exact, every)


def _evaluate(
    samples: Samples, ours: OnnxEngine, codec: TextCodec, exact: OnnxEngine | None, every: int
) -> Evaluation:
    if samples.pairs:
        return _evaluate_pairs(samples.pairs, ours, codec, exact)

    if "fill-mask" not in ours.manifest.tasks:
        raise DataError(f"{ours.manifest.id} fills no masks: it was built for embeddings alone.")
    questions, skipped = cloze.ask(samples.cloze, codec, ours)
    questions += cloze.blanks(samples.sentences, codec, ours, every)
    if not questions:
        raise DataError("No sample has an accepted answer that is one token of this model.")
    return _evaluate_questions(questions, skipped, ours, exact)


def _evaluate_questions(
    questions: list[Question], skipped: int, ours: OnnxEngine, exact: OnnxEngine | None
) -> Evaluation:
    started = time.monotonic()
    scores = cloze.score(questions, ours, Progress("int8", len(questions)))
    seconds = time.monotonic() - started

    float32 = agreement = None
    if exact:
        float32 = cloze.score(questions, exact, Progress("float32", len(questions)))
        say("comparing the probabilities of every token")
        agreement = verify.agreement(ours, exact, [question.query for question in questions])
    described = ours.manifest
    return Evaluation(
        described.id, described.digest, scores, float32, agreement, skipped, round(seconds, 2)
    )


def _evaluate_pairs(
    asked: list[Pair], ours: OnnxEngine, codec: TextCodec, exact: OnnxEngine | None
) -> Evaluation:
    started = time.monotonic()
    vectors = pairs.embed(asked, codec, ours)
    seconds = time.monotonic() - started

    float32 = agreement = None
    if exact:
        exact_vectors = pairs.embed(asked, codec, exact)
        float32 = pairs.score(asked, exact_vectors)
        agreement = verify.cosines(vectors, exact_vectors)
    scores, described = pairs.score(asked, vectors), ours.manifest
    return Evaluation(
        described.id, described.digest, scores, float32, agreement, 0, round(seconds, 2)
    )


def _open(folder: Path) -> tuple[OnnxEngine, TextCodec]:
    described = manifest.read(folder)
    return OnnxEngine.load(folder, described, threads=0), TextCodec.load(folder, described)


@contextmanager
def _float32(checkpoint: Path, ours: OnnxEngine) -> Iterator[OnnxEngine]:
    """The float32 form of the checkpoint that `ours` was built from, in a folder of its own."""
    say("writing the float32 graph")
    fills = "fill-mask" in ours.manifest.tasks
    drawn = draw_up(hub.find(str(checkpoint), None), "fill-mask" if fills else "embed")
    with tempfile.TemporaryDirectory(prefix="fillmask-eval-") as work:
        folder = Path(work) / "float32"
        model_folder.write(folder, drawn, Float32())
        exact, _ = _open(folder)
        if exact.manifest.vocabulary != ours.manifest.vocabulary:
            raise DataError(
                f"{checkpoint} has {exact.manifest.vocabulary} tokens and the model "
                f"{ours.manifest.vocabulary}: it was not built from it."
            )
        yield exact
