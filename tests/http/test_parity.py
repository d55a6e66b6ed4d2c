"""The lean answer and FastAPI's are one: every request, as every gateway's event, byte for byte."""

import json
from typing import Any

import pytest

from support import http_service
from support.http_cases import ALL, FILL, TEXT, Case
from support.http_events_made import KINDS, dressed
from support.samples import Event

FAULTS: dict[str, Any] = {"no model": http_service.no_service, "answered": http_service.service}


def check(event: Event, service: Any = http_service.service) -> Event:
    """Both answers to an event, which are equal to the last byte."""
    events = http_service.http(service)
    lean, full = events.answer(event, None), events.through_fastapi(event, None)
    assert lean == full
    return lean


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_both_ways_answer_alike(case: Case, kind: str) -> None:
    stage = "prod" if kind == "http_api_v2" else ""
    event = dressed(
        kind, case.path, case.body, stage=stage, headers={"content-type": case.content_type}
    )
    assert (check(event)["statusCode"] == 200) is (case.code == "")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    "change",
    [
        {"body": "%%%", "isBase64Encoded": True},
        {"body": {"text": TEXT}},
        {"body": None},
        {"headers": None},
        {"multiValueHeaders": None, "headers": None},
    ],
    ids=json.dumps,
)
def test_both_ways_answer_odd_events_alike(change: dict[str, Any], fault: str, kind: str) -> None:
    event = dressed(kind, FILL, json.dumps({"text": TEXT}))
    check(event | {name: value for name, value in change.items() if name in event}, FAULTS[fault])


def test_an_answer_of_the_lean_way_needs_no_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the two would be equal because they are the same."""
    events = http_service.http()
    monkeypatch.setattr(events.application, "through_fastapi", None)
    assert (
        events.answer(dressed("http_api_v2", FILL, json.dumps({"text": TEXT})), None)["statusCode"]
        == 200
    )
