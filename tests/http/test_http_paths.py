"""What of a path is ours in each gateway's events: stages, base paths, slashes, prefixes."""

import json

import pytest

from support import http_service
from support.http_cases import FILL, TEXT
from support.http_events_made import KINDS, STAGED, Answer, answer, dressed
from support.samples import Event

REQUEST = json.dumps({"text": TEXT}, ensure_ascii=False)


def send(event: Event, base_path: str = "") -> Answer:
    return answer(http_service.http(base_path=base_path).answer(event, None))


@pytest.mark.parametrize("name", STAGED)
@pytest.mark.parametrize("stage", ["prod", "v1", "health", "Prod_2"])
@pytest.mark.parametrize(
    ("path", "method"),
    [
        (FILL, "POST"),
        ("/health", "GET"),
        ("/docs", "GET"),
        (FILL + "/", "POST"),
        ("/health/", "GET"),
    ],
)
def test_a_stage_before_the_path_is_no_part_of_it(
    name: str, stage: str, path: str, method: str
) -> None:
    assert send(dressed(name, path, REQUEST, method=method, stage=stage)).status == 200


def test_a_stage_that_the_path_does_not_have_is_not_taken_off() -> None:
    """A custom domain leaves the stage out, and a stage may be named like the start of a path."""
    event = dressed("http_api_v2", FILL, REQUEST)
    event["requestContext"]["stage"] = "v1"
    assert send(event).status == 200


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("base", ["/nlp", "nlp/", "/a/b"])
@pytest.mark.parametrize(
    ("path", "method"), [(FILL, "POST"), (FILL + "/", "POST"), ("/health", "GET")]
)
def test_a_base_path_before_the_path_is_no_part_of_it(
    name: str, base: str, path: str, method: str
) -> None:
    inside = "/" + base.strip("/")
    event = dressed(name, inside + path, REQUEST, method=method)
    if name == "rest_v1":
        event["requestContext"]["path"] = (
            inside + path
        )  # on a custom domain the stage is not in the path
    assert send(event, base_path=base).status == 200
    assert send(event).status == 404
    assert send(dressed(name, path, REQUEST, method=method), base_path=base).status == 200


def test_a_base_path_is_taken_off_whole() -> None:
    assert send(dressed("alb", "/nlpx/health", method="GET"), base_path="/nlp").status == 404


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/health//", "GET", 200),
        ("//health", "GET", 404),
        ("/v1/fill%2Dmask", "POST", 200),
        ("", "GET", None),
    ],
)
def test_odd_paths_have_plain_answers(
    name: str, path: str, method: str, status: int | None
) -> None:
    found = send(dressed(name, path, REQUEST, method=method)).status
    assert found == (status or send(dressed(name, "/", method="GET")).status)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("path", ["/docs", "/docs/", "/openapi.json/", FILL + "/", "/health/"])
def test_nothing_is_redirected(name: str, path: str) -> None:
    method = "POST" if path.startswith(FILL) else "GET"
    assert send(dressed(name, path, REQUEST, method=method)).status == 200


@pytest.mark.parametrize(
    ("name", "stage"), [*((name, "") for name in KINDS), *((name, "prod") for name in STAGED)]
)
@pytest.mark.parametrize("base", ["", "/nlp"])
def test_the_documents_find_each_other_where_they_are_reached(
    name: str, stage: str, base: str
) -> None:
    prefix = (f"/{stage or 'prod'}" if name == "rest_v1" else f"/{stage}" if stage else "") + base
    page = send(dressed(name, f"{base}/docs", method="GET", stage=stage), base_path=base)
    assert f"url: '{prefix}/openapi.json'" in page.body.decode()
    document = send(
        dressed(name, f"{base}/openapi.json", method="GET", stage=stage), base_path=base
    ).json
    assert document.get("servers") == ([{"url": prefix}] if prefix else None)
    assert FILL in document["paths"]


def test_the_prefix_of_one_request_does_not_stay_for_the_next() -> None:
    events = http_service.http()
    first = answer(
        events.answer(dressed("http_api_v2", "/openapi.json", method="GET", stage="prod"), None)
    ).json
    second = answer(events.answer(dressed("http_api_v2", "/openapi.json", method="GET"), None)).json
    assert first["servers"] == [{"url": "/prod"}]
    assert "servers" not in second
