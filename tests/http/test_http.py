"""What a client gets over HTTP: every request of http_cases.py, and what is at a path."""

import json
import time

import pytest

from fillmask import limits
from fillmask.problem import TABLE
from support import http_cases, http_service
from support.http_cases import ALL, ANSWERED, FILL, REFUSED, TEXT, Case
from support.http_events_made import Answer
from support.http_service import ask, problem
from support.problems import SECRET

ROUTES = (
    "/v1/fill-mask",
    "/v1/embeddings",
    "/v1/similarity",
    "/hf/fill-mask",
    "/hf/feature-extraction",
    "/hf/sentence-similarity",
)


def send(case: Case) -> Answer:
    return ask(
        http_service.http(), case.path, case.body, headers={"content-type": case.content_type}
    )


def name(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", ANSWERED, ids=name)
def test_a_right_request_is_answered(case: Case) -> None:
    reply = send(case)
    assert reply.status == 200
    assert reply.headers == {
        "content-type": "application/json",
        "content-length": str(len(reply.body)),
    }
    assert reply.json


@pytest.mark.parametrize("case", REFUSED, ids=name)
def test_a_wrong_request_gets_its_problem_and_nothing_of_its_text(case: Case) -> None:
    reply = send(case)
    found = problem(reply, case.body)
    assert found["code"] == case.code
    members = dict(case.members)
    if "fields" in members:
        assert [row["field"] for row in found["errors"]] == members.pop("fields")
        assert all(row["reason"] for row in found["errors"])
    if "seen" in members:
        seen = members.pop("seen")
        assert (found["hint"] is None) if seen is None else (seen in found["hint"])
    assert {key: found[key] for key in members} == members


def test_every_limit_of_a_request_is_met_by_a_case() -> None:
    met = {case.members["limit"] for case in REFUSED if "limit" in case.members}
    met |= {
        case.members["fields"][0]
        for case in REFUSED
        if case.members.get("fields") in (["top_k"], ["targets"])
    }
    # A target of too many pieces has its own status in a 200, and a result is a message in a queue.
    # The bytes of an answer depend on the gateway: test_http_sizes.py.
    bytes_of_answers = {"result_bytes", "answer_bytes", "alb_answer_bytes"}
    assert set(limits.TABLE) - met == {"pieces"} | bytes_of_answers


def test_a_target_over_the_limit_of_pieces_says_so() -> None:
    reply = ask(http_service.http(), FILL, json.dumps({"text": TEXT, "targets": ["一" * 13, "上"]}))
    long, short = reply.json["results"][0]["masks"][0]["candidates"]
    assert (long["score"], long["reason"]) == (None, "too_long")
    assert short["score"] > 0


@pytest.mark.parametrize("case", [case for case in ALL if len(case.body or b"") > 90_000], ids=name)
def test_a_heavy_request_is_done_within_a_second_of_processor_time(case: Case) -> None:
    send(http_cases.ANSWERED[0])
    started = time.process_time()
    send(case)
    assert time.process_time() - started < 1


def test_the_shape_is_the_same_for_one_and_several() -> None:
    one = ask(http_service.http(), FILL, json.dumps({"text": TEXT})).json
    several = ask(http_service.http(), FILL, json.dumps({"texts": [TEXT, TEXT]})).json
    assert several["results"] == [one["results"][0]] * 2
    assert set(one["results"][0]) == {
        "text",
        "tokens",
        "masks",
        "fillings",
        "unknown",
        "window",
        "cached",
    }
    assert one["results"][0]["masks"][0]["candidates"][0]["token"] == "上"


# What is at a path


@pytest.mark.parametrize(
    "path", ["/nothing", "/v1", "/v1/fill-mask/more", f"/{SECRET}", "/hf", "/v1/fill-masks"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_nothing_is_at_another_path(path: str, method: str) -> None:
    assert (
        problem(ask(http_service.http(), path, "{}", method=method), SECRET)["code"] == "not_found"
    )


@pytest.mark.parametrize(
    ("path", "method", "allowed"),
    [
        *(
            (path, method, "POST")
            for path in ROUTES
            for method in ("GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS")
        ),
        *(
            (path, method, "GET, HEAD")
            for path in ("/", "/health", "/info", "/v1/models", "/openapi.json", "/docs")
            for method in ("POST", "DELETE", "OPTIONS")
        ),
    ],
)
def test_another_method_is_refused_with_those_that_are_allowed(
    path: str, method: str, allowed: str
) -> None:
    reply = ask(http_service.http(), path, method=method)
    assert reply.status == 405
    assert reply.headers["allow"] == allowed
    if method != "HEAD":
        assert problem(reply)["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", ["/", "/health", "/info", "/docs", "/openapi.json"])
def test_head_is_get_without_its_body(path: str) -> None:
    got, head = (ask(http_service.http(), path, method=method) for method in ("GET", "HEAD"))
    assert (head.status, head.headers, head.body) == (200, got.headers, b"")


def test_health_needs_no_model_and_tells_nothing() -> None:
    assert ask(http_service.http(http_service.no_service), "/health", method="GET").json == {
        "ok": True
    }


def test_info_tells_the_model_the_limits_and_the_versions() -> None:
    told = ask(http_service.http(), "/info", method="GET").json
    assert told["limits"] == limits.TABLE
    assert told["model"]["mask_token"] == "[MASK]"
    assert told["model"]["digest"] == http_service.service().manifest.digest
    assert set(told["versions"]) >= {"fillmask", "python", "onnxruntime", "tokenizers", "fastapi"}


def test_every_code_that_a_request_can_meet_is_met() -> None:
    met = {case.code for case in REFUSED} | {
        "not_found",
        "method_not_allowed",
        "engine_unavailable",
        "internal",
    }
    assert set(TABLE) - met == {
        "unknown_event",
        "operation_unavailable",
        "deadline_exceeded",
    }  # test_direct.py, test_http_troubles.py, test_deadline.py
