"""`sam local` with a real container engine: the README's command, and every event there is."""

import json
from typing import Any

import pytest

import handler
from builder.local.run import Context
from support.container_engine import Engine
from support.paths import EVENTS
from support.sam_local import SamLocal
from support.samples import sample_event

pytestmark = [pytest.mark.sam_local, pytest.mark.slow]
NAMES = sorted(path.stem for path in EVENTS.glob("*.json"))
REFUSED = "s3"
POEM = "床前明月光，疑是地[MASK]霜。"


@pytest.fixture(scope="module")
def sam(engine: Engine) -> SamLocal:
    """SAM in a copy of the project, with both of its servers."""
    local = SamLocal(engine)
    local.start("start-lambda")
    local.start("start-api")
    return local


def here(name: str) -> Any:
    """The handler's answer in this process, as JSON would carry it."""
    return json.loads(json.dumps(handler.handler(sample_event(name), Context())))


def in_container(sam: SamLocal, name: str) -> Any:
    """The answer that start-lambda gives."""
    function = "QueueFunction" if name.startswith("sqs") else "HttpFunction"
    path = f"/2015-03-31/functions/{function}/invocations"
    reply = sam.ask("start-lambda", "POST", path, json.dumps(sample_event(name)).encode())
    assert reply.status == 200
    return reply.json()


def test_the_command_that_layer_prints_answers(sam: SamLocal) -> None:
    answer = sam.invoke()
    assert answer["results"][0]["masks"] == here("direct")["results"][0]["masks"]


@pytest.mark.parametrize("name", [name for name in NAMES if name != REFUSED])
def test_start_lambda_answers_every_event_as_the_handler_does_here(
    sam: SamLocal, name: str
) -> None:
    """To the last digit. Each is asked twice: the second answer says on both sides `cached`."""
    assert here(name).keys() == in_container(sam, name).keys()
    assert here(name) == in_container(sam, name)


def test_start_lambda_passes_an_unknown_event_on_as_an_error(sam: SamLocal) -> None:
    assert in_container(sam, REFUSED)["errorType"] == "UnknownEvent"


def test_start_api_serves_answers_errors_and_the_page(sam: SamLocal) -> None:
    request = json.dumps({"text": POEM, "top_k": 3}).encode()
    filled = sam.ask("start-api", "POST", "/v1/fill-mask", request, "application/json")
    assert filled.status == 200
    assert filled.json()["results"][0]["masks"][0]["candidates"][0]["token"] == "上"

    refused = sam.ask("start-api", "POST", "/v1/fill-mask", b"{}", "application/json")
    assert (refused.status, refused.json()["code"]) == (422, "invalid_request")
    assert refused.headers["content-type"] == "application/problem+json"
    assert sam.ask("start-api", "GET", "/nowhere").status == 404

    page = sam.ask("start-api", "GET", "/")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<title>" in page.body.decode()


def test_what_sam_prints_holds_none_of_the_callers_text(sam: SamLocal, engine: Engine) -> None:
    printed = "".join(path.read_text("utf-8") for path in engine.folder.glob("start-*.log"))
    assert printed.count("RequestId") > len(NAMES)
    assert "疑是地" not in printed
