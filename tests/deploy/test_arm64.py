"""The arm64 layers executed, on an emulated Graviton2, and their answers beside those of x86-64."""

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from builder.model import probes
from support import arm64, lambda_opt
from support.http_events_made import KINDS
from support.lambda_cases import WARM_UP, get
from support.lambda_opt import LambdaProcess
from support.paths import ROOT
from support.samples import sample_event

pytestmark = [pytest.mark.arm64, pytest.mark.slow]
LOG_BOUND = 0.15  # of a candidate's log-probability, among the first hundred of each probe
SCORE_BOUND = 0.02  # of a candidate's probability
PROBES = [probe.text for probe in probes.read()]
UNCACHED = {"FILLMASK_MEMORY_CACHE_BYTES": "0"}
SLOW = 300.0  # seconds that an emulated answer may take on a busy machine


class Answers(NamedTuple):
    """What one architecture makes of the probes."""

    candidates: list[dict[str, float]]  # token -> score, best first, of each probe
    vectors: list[list[float]]  # the probes' embeddings


@pytest.fixture(scope="module")
def graviton() -> Iterator[LambdaProcess]:
    """One instance of the arm64 function."""
    if lambda_opt.ARCH == "arm64":
        pytest.skip("this machine is arm64 itself, and every other test runs the layers on it")
    interpreter = arm64.interpreter()
    built = lambda_opt.layout(arm64.PYTHON, arch="arm64", interpreter=interpreter)
    with LambdaProcess(built, UNCACHED) as process:
        process.ready(SLOW)
        yield process


@pytest.fixture(scope="module")
def emulated(graviton: LambdaProcess) -> Answers:
    return answers(graviton)


@pytest.fixture(scope="module")
def native() -> Answers:
    """The answers of the same function on this machine."""
    with LambdaProcess(lambda_opt.layout(), UNCACHED) as process:
        return answers(process)


def answers(function: LambdaProcess) -> Answers:
    filled = function.invoke({"texts": PROBES, "top_k": 100}, SLOW).payload
    embedded = function.invoke({"operation": "embed", "input": PROBES}, SLOW).payload
    masks = [result["masks"][0] for result in filled["results"]]
    return Answers(
        [{row["token"]: row["score"] for row in mask["candidates"]} for mask in masks],
        [row["embedding"] for row in embedded["data"]],
    )


def test_the_first_candidate_is_the_same(emulated: Answers, native: Answers) -> None:
    first = [[next(iter(rows)) for rows in answered.candidates] for answered in (emulated, native)]
    assert first[0] == first[1]


def test_the_first_five_are_the_same_but_for_a_near_tie(emulated: Answers, native: Answers) -> None:
    pairs = zip(emulated.candidates, native.candidates, strict=True)
    differing = sum(set([*ours][:5]) != set([*theirs][:5]) for ours, theirs in pairs)
    assert differing <= 2


def test_scores_keep_to_the_bound_that_the_readme_states(
    emulated: Answers, native: Answers
) -> None:
    moved: list[float] = []
    logs: list[float] = []
    for ours, theirs in zip(emulated.candidates, native.candidates, strict=True):
        common = ours.keys() & theirs.keys()
        assert len(common) >= 95
        moved += [abs(ours[token] - theirs[token]) for token in common]
        logs += [abs(math.log(ours[token] / theirs[token])) for token in common]
    assert 0 < max(logs) < LOG_BOUND  # 0 would mean that something else than arm64 has answered
    assert max(moved) < SCORE_BOUND
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"arm64 by less than {LOG_BOUND} (a score by {SCORE_BOUND})" in readme


def test_embeddings_point_the_same_way(emulated: Answers, native: Answers) -> None:
    for pair in zip(emulated.vectors, native.vectors, strict=True):
        cosine = sum(ours * theirs for ours, theirs in zip(*pair, strict=True))
        assert cosine > 0.9998


def masks(result: Any) -> Any:
    return [answered["masks"] for answered in result["results"]]


def test_every_kind_of_event_is_answered(graviton: LambdaProcess) -> None:
    direct = graviton.invoke(sample_event("direct"), SLOW).payload
    assert masks(direct)[0][0]["candidates"][0]["token"] == "上"
    for name in KINDS:
        through = graviton.invoke(sample_event(name), SLOW).payload
        assert through["statusCode"] == 200
        assert masks(json.loads(through["body"])) == masks(direct)

    assert graviton.invoke(sample_event("sqs"), SLOW).payload == {"batchItemFailures": []}
    for name in WARM_UP:
        assert graviton.invoke(sample_event(name), SLOW).payload == {"ok": True}
    for path in ("/health", "/info", "/openapi.json", "/docs"):
        assert graviton.invoke(get(path), SLOW).payload["statusCode"] == 200


def test_later_answers_are_the_first_ones(graviton: LambdaProcess, emulated: Answers) -> None:
    """Bit for bit, though a session with packed weights has taken over since the first answer."""
    assert answers(graviton) == emulated
