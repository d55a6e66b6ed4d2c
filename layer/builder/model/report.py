"""How good the INT8 model is: what the comparison with float32 found, and whether that will do."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from builder.checkpoint.pooling import Recipe
from builder.model import probes, verify
from builder.model.plan import Plan
from builder.model.probes import ProbeResults
from builder.model.progress import say
from builder.model.verify import Agreement, Cosines
from fillmask.model import manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec

MIN_AGREEMENT: Final = 0.95  # share of blanks with the same first candidate
MIN_COSINE: Final = 0.99  # mean over the sentences
MIN_LEAST_COSINE: Final = 0.95  # of any sentence
MIN_NEAREST: Final = 0.95  # share of sentences whose nearest other one is as near to float32
# Share of probes that float32 has right in the first five candidates. A random head has none right,
# the embedded model 80 %.
MIN_PROBES: Final = 0.20


@dataclass(frozen=True)
class BothResults:
    """What both models make of the probes."""

    int8: ProbeResults
    float32: ProbeResults


def head_fault(float32: ProbeResults) -> str | None:
    """Why a checkpoint's head is of no use, as with one that was never trained, or None."""
    found = float32.total
    if found.top5 >= MIN_PROBES * found.probes:
        return None
    return (
        "The checkpoint's masked-LM head does not predict Chinese (right in the first five "
        f"candidates on {found.top5} of {found.probes} probes, and the minimum is "
        f"{MIN_PROBES:.0%}); --task embed builds it for embeddings"
    )


@dataclass(frozen=True)
class FillMaskReport:
    """Of a model that fills masks."""

    agreement: Agreement
    probes: BothResults

    @property
    def fault(self) -> str | None:
        """Why the model is not good enough, or None."""
        if fault := head_fault(self.probes.float32):
            return fault

        share = self.agreement.top1_agreement
        if share < MIN_AGREEMENT:
            return (
                f"INT8 agrees with float32 on {share:.1%} of the blanks, and the minimum is "
                f"{MIN_AGREEMENT:.0%}"
            )
        return None


@dataclass(frozen=True)
class VectorsReport:
    """Where an encoder's vectors come from, and how long they are."""

    from_: str
    length: str


@dataclass(frozen=True)
class EmbedReport:
    """Of an encoder for embeddings alone."""

    embeddings: Cosines
    pooling: VectorsReport

    @property
    def fault(self) -> str | None:
        """Why the model is not good enough, or None."""
        found = self.embeddings
        measures = (
            ("a mean cosine with float32's", found.mean_cosine, MIN_COSINE),
            ("a least cosine with float32's", found.least_cosine, MIN_LEAST_COSINE),
            ("as near a neighbour as float32's in a share", found.nearest_agreement, MIN_NEAREST),
        )
        for what, value, minimum in measures:
            if value < minimum:
                return f"INT8's embeddings have {what} of {value:.4f}, and the minimum is {minimum}"
        return None


Report = FillMaskReport | EmbedReport


def to_json(report: Report) -> dict[str, Any]:
    """The report as model.json holds it; `from_` stands for a name that Python does not allow."""
    return asdict(
        report, dict_factory=lambda members: {name.rstrip("_"): value for name, value in members}
    )


def check_head(float32: Path, plan: Plan) -> str | None:
    """Why the checkpoint's head is of no use, or None: seconds, before the minutes of building."""
    if plan.recipe:
        return None
    described = manifest.read(float32)
    codec = TextCodec.load(float32, described)
    asked = probes.read()
    probes.check_room(codec, described, asked)
    return head_fault(probes.score(OnnxEngine.load(float32, described, threads=0), codec, asked))


def compare(int8: Path, float32: Path, plan: Plan) -> Report:
    """Compares two folders of the same checkpoint, and says what it finds."""
    described = manifest.read(int8)
    codec = TextCodec.load(int8, described)
    ours = OnnxEngine.load(int8, described, threads=0)
    exact = OnnxEngine.load(float32, manifest.read(float32), threads=0)

    if plan.recipe:
        return _compare_embeddings(ours, exact, codec, plan.recipe)
    return _compare_candidates(ours, exact, codec)


def _compare_embeddings(
    ours: OnnxEngine, exact: OnnxEngine, codec: TextCodec, recipe: Recipe
) -> EmbedReport:
    say(f"comparing the embeddings of {len(verify.sentences())} sentences")
    cosines = verify.embeddings(ours, exact, codec)
    say(f"cosines with float32: {json.dumps(asdict(cosines))}")
    return EmbedReport(cosines, VectorsReport(recipe.origin, recipe.length))


def _compare_candidates(ours: OnnxEngine, exact: OnnxEngine, codec: TextCodec) -> FillMaskReport:
    asked = probes.read()
    probes.check_room(codec, ours.manifest, asked)
    queries = verify.blanks(codec, ours.manifest)
    say(f"comparing on {len(queries)} blanks and {len(asked)} probes")

    agreement = verify.agreement(ours, exact, queries)
    say(f"agreement with float32: {json.dumps(asdict(agreement))}")

    both = BothResults(
        int8=probes.score(ours, codec, asked), float32=probes.score(exact, codec, asked)
    )
    for name, results in (("float32", both.float32), ("int8", both.int8)):
        found = results.total
        say(
            f"{name}: {found.top1} of {found.probes} probes right in the first candidate, "
            f"{found.top5} in the first five"
        )
    return FillMaskReport(agreement, both)
