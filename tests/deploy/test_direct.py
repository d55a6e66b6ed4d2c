"""Direct invocation and warm-up: the event is the request, the answer a result or a problem."""

from typing import Any

import pytest

import handler
from fillmask.direct import DirectAdapter
from fillmask.errors import EngineUnavailable, UnknownEvent
from fillmask.requests import json_text
from support import http_service
from support.http_cases import (
    ANSWERED,
    EMBED,
    FILL,
    INVALID,
    NO_MASK,
    SIMILAR,
    TEXT,
    TOO_LARGE,
    Case,
)
from support.http_events_made import answer, dressed
from support.problems import SECRET, check_problem
from support.samples import sample_event

OPERATIONS = {FILL: "fill-mask", EMBED: "embed", SIMILAR: "similarity"}


def event(case: Case) -> dict[str, Any] | None:
    """The body of a case over HTTP with its operation beside it, where that makes an event."""
    body = json_text.read(case.body.strip() or b"null") if case.body else None
    return (
        body | {"operation": OPERATIONS[case.path]}
        if isinstance(body, dict) and case.path in OPERATIONS
        else None
    )


def events(*cases: Case) -> list[Any]:
    """Pairs of a case and its event, for a test's parameters."""
    return [
        pytest.param(case, event(case), id=case.name) for case in cases if event(case) is not None
    ]


def ask(request: Any) -> Any:
    return DirectAdapter(http_service.service).answer(request, None)


@pytest.mark.parametrize(("case", "request_"), events(*ANSWERED))
def test_the_answer_is_that_of_http(case: Case, request_: Any) -> None:
    reply = answer(http_service.http().answer(dressed("http_api_v2", case.path, case.body), None))
    assert ask(request_) == reply.json


@pytest.mark.parametrize(("case", "request_"), events(*INVALID, *NO_MASK, *TOO_LARGE))
def test_a_wrong_request_gets_its_problem_back(case: Case, request_: Any) -> None:
    """An exception would make Lambda repeat an asynchronous invocation that can never succeed."""
    assert DirectAdapter(http_service.service).recognises(request_)
    assert check_problem(ask(request_), case.body)["code"] == case.code


@pytest.mark.parametrize(
    "operation", [SECRET, "", None, 5, ["embed"], {"embed": 1}, "\ud800", "Fill-Mask", "answer"]
)
def test_an_unknown_operation_is_a_problem(operation: Any) -> None:
    found = check_problem(ask({"operation": operation, "text": TEXT}), SECRET)
    assert found["code"] == "invalid_request"
    assert found["errors"][0]["field"] == "operation"
    assert "fill-mask" in found["detail"]


def test_an_operation_without_a_request_is_a_problem() -> None:
    assert check_problem(ask({"operation": "fill-mask"}))["code"] == "invalid_request"


def test_without_a_model_the_invocation_fails_so_that_it_is_tried_again() -> None:
    with pytest.raises(EngineUnavailable):
        DirectAdapter(http_service.no_service).answer({"text": TEXT}, None)


def test_a_fault_of_ours_fails_the_invocation() -> None:
    with pytest.raises(RuntimeError):
        DirectAdapter(http_service.failing_service).answer({"text": TEXT}, None)


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"warmup": True},
        {"source": "aws.events"},
        {"source": "aws.scheduler"},
        sample_event("warmup"),
        sample_event("eventbridge"),
    ],
)
def test_warm_up_runs_the_model(event: Any) -> None:
    assert handler.handler(event, None) == {"ok": True}


@pytest.mark.parametrize(
    "event", [{"text": TEXT}, {"operation": "embed", "input": "你好"}, sample_event("direct")]
)
def test_the_handler_knows_a_request(event: Any) -> None:
    assert "code" not in handler.handler(event, None)


def test_every_door_gives_the_same_candidates() -> None:
    direct = handler.handler({"text": TEXT, "top_k": 5}, None)["results"][0]["masks"]
    for kind in ("http_api_v2", "function_url", "rest_v1", "alb", "alb_multi"):
        assert (
            answer(handler.handler(sample_event(kind), None)).json["results"][0]["masks"] == direct
        )


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        "text",
        5,
        [{"text": TEXT}],
        {SECRET: SECRET},
        {"warmup": False},
        {"warmup": 1},
        {"source": "aws.s3"},
        {"requestContext": {}},
        {"Records": None},
    ],
)
def test_any_other_event_is_refused_by_one_clear_error(event: Any) -> None:
    with pytest.raises(UnknownEvent, match="Expected an API Gateway") as caught:
        handler.handler(event, None)
    assert SECRET not in str(caught.value)
