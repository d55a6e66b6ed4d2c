"""Cloze probes: sentences with one mask, and how many of them a model has right, by kind."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from builder.checkpoint.errors import CheckpointError
from fillmask.model.contract import Query
from fillmask.model.manifest import Manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec

FILE: Final = Path(__file__).parents[1] / "data" / "cloze-probes.jsonl"
BEST: Final = 5  # candidates that are looked at


class Probe(NamedTuple):
    """A sentence with one mask and the tokens that are right there."""

    text: str
    accept: list[str]
    kind: str
    half: str = "open"  # or "held-back": not to be scored while a model is still being made


@dataclass(frozen=True)
class ProbeCount:
    """How many probes there are, and how many are right in the first one and five candidates."""

    probes: int
    top1: int
    top5: int


@dataclass(frozen=True)
class ProbeResults:
    """What a model makes of some probes."""

    kinds: dict[str, ProbeCount]
    right: list[int]  # the numbers of those whose first candidate is right

    @property
    def total(self) -> ProbeCount:
        """Of all kinds."""
        counts = self.kinds.values()
        return ProbeCount(
            sum(count.probes for count in counts),
            sum(count.top1 for count in counts),
            sum(count.top5 for count in counts),
        )


def read(file: Path = FILE) -> list[Probe]:
    """The hand-made probes, or those of another file of the same form."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [Probe(**json.loads(line)) for line in lines]


def check_room(codec: TextCodec, described: Manifest, probes: Sequence[Probe]) -> None:
    """Raises CheckpointError where a model is too small for the probes."""
    longest = max(len(codec.encode(probe.text, described.lowercase).ids) for probe in probes)
    if described.capacity < longest:
        raise CheckpointError(
            f"The checkpoint has {described.max_tokens} positions, and the probes that prove a "
            f"fill-mask model take {described.max_tokens - described.capacity + longest}."
        )
    if described.vocabulary <= BEST:
        raise CheckpointError(
            f"The checkpoint's vocabulary of {described.vocabulary} tokens holds no candidates."
        )


def score(engine: OnnxEngine, codec: TextCodec, probes: Sequence[Probe]) -> ProbeResults:
    """What a model makes of each probe."""
    top1: dict[str, list[bool]] = defaultdict(list)
    top5: dict[str, list[bool]] = defaultdict(list)
    right = []
    for number, probe in enumerate(probes):
        tokens = _candidates(engine, codec, probe)
        top1[probe.kind].append(tokens[0] in probe.accept)
        top5[probe.kind].append(any(token in probe.accept for token in tokens))
        if tokens[0] in probe.accept:
            right.append(number)

    kinds = {kind: ProbeCount(len(top1[kind]), sum(top1[kind]), sum(top5[kind])) for kind in top1}
    return ProbeResults(kinds, right)


def _candidates(engine: OnnxEngine, codec: TextCodec, probe: Probe) -> list[str]:
    """The first five at the probe's mask."""
    encoded = codec.encode(probe.text, engine.manifest.lowercase)
    (mask,) = encoded.masks
    query = Query(engine.manifest.special.enclose(encoded.ids), [mask + 1])
    ((prediction,),) = engine.predict([query], BEST, subwords=False, targets=[])
    return [codec.token(token) for token in prediction.tokens]
