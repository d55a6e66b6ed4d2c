"""Events that no gateway sends: UnknownEvent in one sentence, and no other exception."""

from typing import Any

import pytest

from fillmask.errors import UnknownEvent
from support import http_service
from support.http_cases import FILL
from support.http_events_made import KINDS, dressed
from support.samples import Event

WRONG = (5, 1.5, True, "text", ["list"], {"a": 1})
LONE_SURROGATE = "\ud800"


def outcome(event: Event) -> int | str:
    """The status of the answer, or the sentence of UnknownEvent."""
    events = http_service.http()
    try:
        status: int = events.answer(event, None)["statusCode"]
    except UnknownEvent as error:
        return error.detail
    return status


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", [FILL, "/health"])
@pytest.mark.parametrize("member", ["headers", "multiValueHeaders", "path", "rawPath"])
def test_members_of_a_wrong_type(kind: str, path: str, member: str) -> None:
    method = "POST" if path == FILL else "GET"
    usual = dressed(kind, path, '{"text": "好[MASK]"}', method=method)
    if member not in usual:
        return

    right = type(usual[member] if usual[member] is not None else {})
    for value in WRONG:
        if isinstance(value, right):
            continue
        found = outcome(usual | {member: value})
        assert found == (
            f"The HTTP event has {member!r} of type {type(value).__name__}, not {right.__name__}."
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", WRONG)
def test_a_method_of_a_wrong_type(kind: str, value: Any) -> None:
    event = dressed(kind, FILL, "{}")
    if "http" in event["requestContext"]:
        event["requestContext"]["http"]["method"] = value
    else:
        event["httpMethod"] = value
    found = outcome(event)
    assert found == 405 if isinstance(value, str) else "not str." in str(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", [FILL, "/health"])
@pytest.mark.parametrize("part", ["name", "value", "path"])
def test_a_lone_surrogate_is_no_unicode(kind: str, path: str, part: str) -> None:
    event = dressed(kind, path, "{}", method="POST" if path == FILL else "GET")
    several = kind == "alb_multi" or "headers" not in event
    field = "multiValueHeaders" if several else "headers"
    bad: Any = {"name": {LONE_SURROGATE: "a"}, "value": {"x-name": LONE_SURROGATE}, "path": {}}
    headers = {name: [value] if several else value for name, value in bad[part].items()}
    event[field] = (event.get(field) or {}) | headers
    if part == "path":
        for name in ("path", "rawPath"):
            if name in event:
                event[name] += LONE_SURROGATE

    assert "not Unicode" in str(outcome(event))
