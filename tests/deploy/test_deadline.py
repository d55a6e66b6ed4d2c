"""Work that the time left does not cover ends as its problem, from every way in."""

import json
import time

import pytest

from fillmask.adapters import ANSWERING_MS
from fillmask.direct import DirectAdapter
from fillmask.errors import DeadlineExceeded
from fillmask.model import deadline
from fillmask.model.deadline import Pace
from fillmask.queue.messages import RESERVE_MS, QueueAdapter
from support import http_service
from support.http_cases import EMBED, FILL
from support.http_events_made import KINDS, answer, dressed
from support.problems import check_problem_reply
from support.queue_doubles import GOOD, Left, event, failures

LONG = {"input": [mark + "天气很好" * 2_400 for mark in "一二三四"]}  # 38,404 tokens of texts
SHORT = {"input": "天气很好"}


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance that has measured one millisecond a token."""
    pace = Pace()
    pace.measured(1_000, 1.0)
    monkeypatch.setattr(pace, "measured", lambda tokens, seconds: None)
    monkeypatch.setattr(http_service.service()._engine, "_pace", pace)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cors_origins", ["", "*"])
def test_over_http_it_is_a_503_at_once(kind: str, cors_origins: str) -> None:
    events = http_service.http(cors_origins=cors_origins)
    left = Left(5_000 + ANSWERING_MS)
    start = time.perf_counter()
    reply = answer(events.answer(dressed(kind, EMBED, json.dumps(LONG)), left))
    assert time.perf_counter() - start < 3

    found = check_problem_reply(*reply, LONG)
    assert found["code"] == "deadline_exceeded"
    assert found["tokens"] > 38_000
    assert 3_000 < found["fitting_tokens"] <= 5_000
    short = events.answer(dressed(kind, EMBED, json.dumps(SHORT)), left)
    assert answer(short).status == 200


def test_with_no_time_left_nothing_is_run() -> None:
    events = http_service.http()
    reply = answer(events.answer(dressed("http_api_v2", FILL, json.dumps(GOOD)), Left(100)))
    assert check_problem_reply(*reply, GOOD)["fitting_tokens"] == 0


def test_a_direct_invocation_raises_it_as_a_transient_error() -> None:
    direct = DirectAdapter(http_service.service)
    with pytest.raises(DeadlineExceeded):
        direct.answer(LONG | {"operation": "embed"}, Left(5_000))
    assert direct.answer(LONG | {"operation": "embed", "input": "好"}, Left(5_000))["data"]


def test_of_a_batch_only_the_heavy_message_is_reported() -> None:
    adapter = QueueAdapter(http_service.service().answer)
    batch = event(GOOD, LONG | {"operation": "embed"}, GOOD, GOOD)
    assert failures(adapter.answer(batch, Left(RESERVE_MS + 10_000))) == ["m2"]


def test_without_a_context_there_is_no_deadline() -> None:
    assert (
        answer(http_service.http().answer(dressed("alb", FILL, json.dumps(GOOD)), None)).status
        == 200
    )


def test_a_pace_follows_quick_runs_at_once_and_slow_ones_slowly() -> None:
    def fits(pace: Pace, tokens: int) -> bool:
        with deadline.within(1_000):
            try:
                pace.check(tokens)
            except DeadlineExceeded:
                return False
        return True

    pace = Pace()
    assert fits(pace, 10**9), "nothing is measured yet"
    pace.measured(100, 0.1)
    assert fits(pace, 900)
    assert not fits(pace, 1_100)
    pace.measured(100, 0.2)
    assert fits(pace, 800)
    assert not fits(pace, 900)
    pace.measured(100, 0.05)
    assert fits(pace, 1_900)


def test_a_measured_run_bounds_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    service = http_service.service()
    monkeypatch.setattr(service._engine, "_pace", Pace())
    service.answer("embed", SHORT)
    service.answer("embed", {"input": LONG["input"][:1]})
    with deadline.within(20), pytest.raises(DeadlineExceeded) as caught:
        service.answer("embed", LONG)
    assert 0 <= caught.value.extra["fitting_tokens"] < caught.value.extra["tokens"]
