"""What a client gets when the service is in trouble, and the headers that browsers want."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from fillmask.cache.memory import MemoryCache
from fillmask.http.respond import PATHS
from fillmask.operations.service import Service
from fillmask.start import Loader
from support import http_cases, http_service
from support.http_cases import ANSWERED, EMBED, FILL, TEXT, Case
from support.http_events_made import answer, dressed
from support.http_service import ask, problem
from support.paths import MODEL

ORIGIN = "https://example.org"


@pytest.mark.parametrize("route", PATHS)
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


@pytest.mark.parametrize(
    "spoil",
    [
        _missing,
        _truncated,
        _garbled("cold.onnx"),
        _garbled("tokenizer.json"),
        _garbled("model.json"),
        _manifest("{}"),
        _manifest("[]"),
        _manifest('{"format": 1}'),
        _without("special"),
        _without("digest"),
    ],
    ids=[
        "missing",
        "truncated",
        "graph",
        "tokenizer",
        "manifest",
        "empty",
        "list",
        "bare",
        "special",
        "digest",
    ],
)
def test_a_broken_model_folder_is_a_503_and_the_health_check_stays(
    spoil: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(MODEL, folder)
    spoil(folder)
    events = http_service.http(Loader(http_service.settings(model_dir=str(folder))))
    assert ask(events, "/health", method="GET").status == 200
    for reply in (
        ask(events, FILL, json.dumps({"text": TEXT})),
        ask(events, "/info", method="GET"),
    ):
        assert problem(reply, str(tmp_path))["code"] == "engine_unavailable"
    assert str(folder) in caplog.text


@pytest.mark.parametrize(("path", "field"), [(FILL, "text"), (EMBED, "input")])
def test_numbers_that_are_not_finite_are_a_503_and_never_cached(
    path: str, field: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(MODEL, folder)
    _garbled("model.onnx.data")(folder)  # the scales become NaN
    loader = Loader(http_service.settings(model_dir=str(folder)))

    class Kept(MemoryCache):
        def put_many(self, items: object) -> None:
            raise AssertionError("cached")

    cache = Kept(2**20, 60)
    service = loader()
    damaged = Service(service._engine, service._codec, cache)

    reply = ask(http_service.http(lambda: damaged), path, json.dumps({field: TEXT}))
    assert problem(reply, TEXT)["code"] == "engine_unavailable"
    assert "not finite" in caplog.text


@pytest.mark.parametrize("lean", [True, False])
def test_a_fault_of_ours_is_a_500_with_an_id_that_the_log_has(
    lean: bool, caplog: pytest.LogCaptureFixture
) -> None:
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


def test_an_operation_that_the_model_was_not_built_for_is_a_404() -> None:
    whole = http_service.service()
    service = Service(whole._engine, whole._codec, MemoryCache(0, 1))
    service.manifest = whole.manifest._replace(tasks=("embed",))
    events = http_service.http(lambda: service)
    assert (
        problem(ask(events, FILL, json.dumps({"text": TEXT})), TEXT)["code"]
        == "operation_unavailable"
    )
    assert ask(events, EMBED, json.dumps({"input": "你好"})).status == 200


# CORS


@pytest.mark.parametrize(
    ("case", "status"),
    [
        (ANSWERED[0], 200),
        (http_cases.INVALID[0], 422),
        (http_cases.NOT_JSON[0], 400),
        (http_cases.TOO_LARGE[-1], 413),
    ],
)
@pytest.mark.parametrize("origins", [ORIGIN, "*", f"https://other.example, {ORIGIN}"])
def test_cors_headers_are_on_every_answer_when_switched_on(
    case: Case, status: int, origins: str
) -> None:
    reply = ask(
        http_service.http(cors_origins=origins), case.path, case.body, headers={"origin": ORIGIN}
    )
    assert reply.status == status
    assert reply.headers["access-control-allow-origin"] == ("*" if origins == "*" else ORIGIN)


def test_cors_headers_are_on_the_answers_to_troubles_and_wrong_paths() -> None:
    headers = {"origin": ORIGIN}
    event = dressed("http_api_v2", FILL, "%%%", headers=headers) | {"isBase64Encoded": True}
    replies = [
        ask(
            http_service.http(http_service.failing_service, cors_origins="*"),
            FILL,
            "{}",
            headers=headers,
        ),
        ask(
            http_service.http(http_service.no_service, cors_origins="*"),
            FILL,
            "{}",
            headers=headers,
        ),
        ask(http_service.http(cors_origins="*"), "/nothing", headers=headers),
        ask(http_service.http(cors_origins="*"), FILL, method="PUT", headers=headers),
        answer(http_service.http(cors_origins="*").answer(event, None)),
    ]
    assert [reply.status for reply in replies] == [500, 503, 404, 405, 400]
    assert {reply.headers["access-control-allow-origin"] for reply in replies} == {"*"}
    assert [problem(reply)["status"] for reply in replies] == [reply.status for reply in replies]


def test_a_preflight_is_answered_for_known_origins_only() -> None:
    events = http_service.http(cors_origins=ORIGIN)
    asks = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    reply = ask(events, FILL, method="OPTIONS", headers=asks | {"origin": ORIGIN})
    assert reply.status == 200
    assert reply.headers["access-control-allow-origin"] == ORIGIN
    assert "POST" in reply.headers["access-control-allow-methods"]
    assert "content-type" in reply.headers["access-control-allow-headers"].lower()
    refused = ask(
        events, FILL, method="OPTIONS", headers=asks | {"origin": "https://other.example"}
    )
    assert refused.status == 400
    assert "access-control-allow-origin" not in refused.headers


def test_no_cors_headers_when_switched_off() -> None:
    reply = ask(http_service.http(), FILL, json.dumps({"text": TEXT}), headers={"origin": ORIGIN})
    assert not [header for header in reply.headers if header.startswith("access-control")]
