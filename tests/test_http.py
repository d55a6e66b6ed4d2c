"""What a client gets over HTTP: every request of http_cases.py, and the service's own troubles."""

import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

import http_cases
import http_service
from fillmask import limits
from fillmask.http_events import HttpEvents
from fillmask.load import load_service
from fillmask.problem import TABLE
from http_cases import ALL, ANSWERED, FILL, REFUSED, TEXT, Case
from http_events_made import Answer, answer, dressed
from problems import SECRET, check_problem_reply

ROUTES = ("/v1/fill-mask", "/v1/embeddings", "/v1/similarity", "/hf/fill-mask", "/hf/feature-extraction",
          "/hf/sentence-similarity")
ORIGIN = "https://example.org"


def ask(events: HttpEvents, path: str, body: bytes | str | None = None, **how: Any) -> Answer:
    """A request as an HTTP API event, answered."""
    return answer(events.answer(dressed("http_api_v2", path, body, **how), None))


def send(case: Case) -> Answer:
    return ask(http_service.http(), case.path, case.body, headers={"content-type": case.content_type})


def problem(reply: Answer, *sent: object) -> dict[str, Any]:
    return check_problem_reply(*reply, *sent)


def name(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", ANSWERED, ids=name)
def test_a_right_request_is_answered(case: Case) -> None:
    reply = send(case)
    assert reply.status == 200
    assert reply.headers == {"content-type": "application/json", "content-length": str(len(reply.body))}
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
    met |= {case.members["fields"][0] for case in REFUSED if case.members.get("fields") in (["top_k"], ["targets"])}
    assert set(limits.TABLE) - met == {"pieces"}  # a target over it has its own status in a 200


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
    assert set(one["results"][0]) == {"text", "tokens", "masks", "fillings", "unknown", "window", "cached"}
    assert one["results"][0]["masks"][0]["candidates"][0]["token"] == "上"


# What is at a path


@pytest.mark.parametrize("path", ["/nothing", "/v1", "/v1/fill-mask/more", f"/{SECRET}", "/hf", "/v1/fill-masks"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_nothing_is_at_another_path(path: str, method: str) -> None:
    assert problem(ask(http_service.http(), path, "{}", method=method), SECRET)["code"] == "not_found"


@pytest.mark.parametrize(("path", "method", "allowed"), [
    *((path, method, "POST") for path in ROUTES for method in ("GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS")),
    *((path, method, "GET, HEAD") for path in ("/", "/health", "/info", "/openapi.json", "/docs")
      for method in ("POST", "DELETE", "OPTIONS")),
])
def test_another_method_is_refused_with_those_that_are_allowed(path: str, method: str, allowed: str) -> None:
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
    assert ask(http_service.http(http_service.no_service), "/health", method="GET").json == {"ok": True}


def test_info_tells_the_model_the_limits_and_the_versions() -> None:
    told = ask(http_service.http(), "/info", method="GET").json
    assert told["limits"] == limits.TABLE
    assert told["model"]["mask_token"] == "[MASK]"
    assert told["model"]["digest"] == http_service.service().manifest.digest
    assert set(told["versions"]) >= {"fillmask", "python", "onnxruntime", "tokenizers", "fastapi"}


# Troubles of the service


@pytest.mark.parametrize("route", ROUTES)
def test_without_a_model_an_operation_is_a_503(route: str) -> None:
    reply = ask(http_service.http(http_service.no_service), route, json.dumps({"text": TEXT}))
    assert problem(reply, TEXT)["code"] == "engine_unavailable"


def _missing(folder: Path) -> None:
    shutil.rmtree(folder)


def _truncated(folder: Path) -> None:
    (folder / "model.onnx.data").write_bytes((folder / "model.onnx.data").read_bytes()[:1000])


def _garbled(file: str) -> Any:
    def spoil(folder: Path) -> None:
        path = folder / file
        path.write_bytes(b"\xff" * path.stat().st_size)
    return spoil


def _manifest(content: str) -> Any:
    def spoil(folder: Path) -> None:
        (folder / "model.json").write_text(content)
    return spoil


def _without(name: str) -> Any:
    def spoil(folder: Path) -> None:
        content = json.loads((folder / "model.json").read_text())
        del content[name]
        (folder / "model.json").write_text(json.dumps(content))
    return spoil


@pytest.mark.parametrize("spoil", [
    _missing, _truncated, _garbled("model.onnx"), _garbled("tokenizer.json"), _garbled("model.json"),
    _manifest("{}"), _manifest("[]"), _manifest('{"format": 1}'), _without("special"), _without("digest"),
], ids=["missing", "truncated", "graph", "tokenizer", "manifest", "empty", "list", "bare", "special", "digest"])
def test_a_broken_model_folder_is_a_503_and_the_health_check_stays(
        spoil: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "model"
    shutil.copytree(http_service.MODEL, folder)
    spoil(folder)
    events = http_service.http(load_service(http_service.settings(model_dir=str(folder))))
    assert ask(events, "/health", method="GET").status == 200
    for reply in (ask(events, FILL, json.dumps({"text": TEXT})), ask(events, "/info", method="GET")):
        assert problem(reply, str(tmp_path))["code"] == "engine_unavailable"
    assert str(folder) in caplog.text


@pytest.mark.parametrize("lean", [True, False])
def test_a_fault_of_ours_is_a_500_with_an_id_that_the_log_has(lean: bool, caplog: pytest.LogCaptureFixture) -> None:
    events = http_service.http(http_service.failing_service)
    event = dressed("http_api_v2", FILL, json.dumps({"text": TEXT}))
    reply = answer(events.answer(event, None) if lean else events.through_fastapi(event, None))
    found = problem(reply, TEXT)
    assert found["code"] == "internal"
    assert re.fullmatch(r"[0-9a-f-]{36}", found["request_id"])
    assert found["request_id"] in caplog.text
    assert "RuntimeError" in caplog.text
    assert "床前" not in caplog.text


def test_a_fault_outside_the_operations_is_a_500_too() -> None:
    found = problem(ask(http_service.http(http_service.failing_service), "/info", method="GET"))
    assert found["code"] == "internal"


# CORS


@pytest.mark.parametrize(("case", "status"), [
    (ANSWERED[0], 200), (http_cases.INVALID[0], 422), (http_cases.NOT_JSON[0], 400), (http_cases.TOO_LARGE[-1], 413)])
@pytest.mark.parametrize("origins", [ORIGIN, "*", f"https://other.example, {ORIGIN}"])
def test_cors_headers_are_on_every_answer_when_switched_on(case: Case, status: int, origins: str) -> None:
    reply = ask(http_service.http(cors_origins=origins), case.path, case.body, headers={"origin": ORIGIN})
    assert reply.status == status
    assert reply.headers["access-control-allow-origin"] == ("*" if origins == "*" else ORIGIN)


def test_cors_headers_are_on_the_answers_to_troubles_and_wrong_paths() -> None:
    headers = {"origin": ORIGIN}
    event = dressed("http_api_v2", FILL, "%%%", headers=headers) | {"isBase64Encoded": True}
    replies = [
        ask(http_service.http(http_service.failing_service, cors_origins="*"), FILL, "{}", headers=headers),
        ask(http_service.http(http_service.no_service, cors_origins="*"), FILL, "{}", headers=headers),
        ask(http_service.http(cors_origins="*"), "/nothing", headers=headers),
        ask(http_service.http(cors_origins="*"), FILL, method="PUT", headers=headers),
        answer(http_service.http(cors_origins="*").answer(event, None)),
    ]
    assert [reply.status for reply in replies] == [500, 503, 404, 405, 400]
    assert {reply.headers["access-control-allow-origin"] for reply in replies} == {"*"}
    assert [problem(reply)["status"] for reply in replies] == [reply.status for reply in replies]


def test_a_preflight_is_answered_for_known_origins_only() -> None:
    events = http_service.http(cors_origins=ORIGIN)
    asks = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    reply = ask(events, FILL, method="OPTIONS", headers=asks | {"origin": ORIGIN})
    assert reply.status == 200
    assert reply.headers["access-control-allow-origin"] == ORIGIN
    assert "POST" in reply.headers["access-control-allow-methods"]
    assert "content-type" in reply.headers["access-control-allow-headers"].lower()
    refused = ask(events, FILL, method="OPTIONS", headers=asks | {"origin": "https://other.example"})
    assert refused.status == 400
    assert "access-control-allow-origin" not in refused.headers


def test_no_cors_headers_when_switched_off() -> None:
    reply = ask(http_service.http(), FILL, json.dumps({"text": TEXT}), headers={"origin": ORIGIN})
    assert not [header for header in reply.headers if header.startswith("access-control")]


def test_every_code_that_a_request_can_meet_is_met() -> None:
    met = {case.code for case in REFUSED} | {"not_found", "method_not_allowed", "engine_unavailable", "internal"}
    assert set(TABLE) - met == {"unknown_event", "operation_unavailable"}
