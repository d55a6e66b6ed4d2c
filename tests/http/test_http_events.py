"""The events of the gateways: one request reads the same in each, whatever the oddities of each."""

import json
from typing import Any

import pytest

from fillmask.http import gateways
from fillmask.http.gateways import HttpApi, LoadBalancer, MultiValueLoadBalancer, RestApi
from support import http_service
from support.http_cases import ANSWERED, FILL, PNG, REFUSED, TEXT
from support.http_events_made import KINDS, Answer, answer, dressed
from support.problems import SECRET, check_problem_reply
from support.samples import Event, sample_event

REQUEST = json.dumps({"text": TEXT, "top_k": 3}, ensure_ascii=False)


def send(event: Event) -> Answer:
    return answer(http_service.http().answer(event, None))


@pytest.mark.parametrize("name", KINDS)
def test_a_whole_event_of_each_gateway_is_answered_alike(name: str) -> None:
    reply = send(sample_event(name))
    assert reply.status == 200
    assert reply.body == send(sample_event(KINDS[0])).body
    assert reply.json["results"][0]["masks"][0]["candidates"][0]["token"] == "上"


@pytest.mark.parametrize(
    "case", [ANSWERED[0], ANSWERED[-1], *REFUSED[::11]], ids=lambda case: case.name
)
def test_one_request_has_one_answer_in_every_dress(case: Any) -> None:
    headers = {"content-type": case.content_type}
    replies = [send(dressed(name, case.path, case.body, headers=headers)) for name in KINDS]
    assert {reply.status for reply in replies} == {replies[0].status}
    assert {reply.body for reply in replies} == {replies[0].body}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("path", [FILL, "/health"])
def test_the_answer_has_the_form_the_gateway_wants(name: str, path: str) -> None:
    method = "POST" if path == FILL else "GET"
    reply = http_service.http().answer(dressed(name, path, REQUEST, method=method), None)
    fields = {"rest_v1": {"headers", "multiValueHeaders"}, "alb_multi": {"multiValueHeaders"}}.get(
        name, {"headers"}
    )
    assert set(reply) == {"statusCode", "body", "isBase64Encoded"} | fields
    assert isinstance(reply["statusCode"], int)
    assert isinstance(reply["body"], str)
    assert reply["isBase64Encoded"] is False
    if name == "alb_multi":
        assert reply["multiValueHeaders"]["content-type"] == ["application/json"]
    else:
        assert reply["headers"]["content-type"] == "application/json"


# Bodies


@pytest.mark.parametrize("name", KINDS)
def test_a_base64_body_reads_like_a_text_body(name: str) -> None:
    assert (
        send(dressed(name, FILL, REQUEST.encode())).body == send(dressed(name, FILL, REQUEST)).body
    )


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    "body", ["%%%", "abc", "a" * 5, "床前", f'{{"text": "{SECRET}[MASK]"}}', "eyJ9\n=", "e-_9"]
)
def test_malformed_base64_is_invalid_json(name: str, body: str) -> None:
    reply = send(
        dressed(name, FILL, body, headers={"content-type": "image/png"}) | {"isBase64Encoded": True}
    )
    found = check_problem_reply(*reply, body)
    assert found["code"] == "invalid_json"
    assert "base64" in found["detail"]


@pytest.mark.parametrize("name", KINDS)
def test_malformed_base64_where_no_body_is_read_is_no_matter(name: str) -> None:
    assert (
        send(dressed(name, "/health", "%%%", method="GET") | {"isBase64Encoded": True}).status
        == 200
    )


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("flag", [False, True, None])
def test_a_body_as_an_object_is_the_request(name: str, flag: bool | None) -> None:
    event = dressed(name, FILL) | {"body": json.loads(REQUEST), "isBase64Encoded": flag}
    assert send(event).body == send(dressed(name, FILL, REQUEST)).body


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ([], "invalid_request"),
        (5, "invalid_request"),
        (False, "invalid_request"),
        ({}, "invalid_request"),
        ({"text": SECRET}, "no_mask"),
        ({"text": "\ud800[MASK]"}, "invalid_request"),
        ("", "invalid_json"),
    ],
)
def test_a_body_of_another_kind_is_a_clear_problem(body: Any, code: str) -> None:
    reply = send(dressed("http_api_v2", FILL) | {"body": body})
    assert check_problem_reply(*reply, SECRET)["code"] == code


@pytest.mark.parametrize("name", KINDS)
def test_a_missing_body_is_a_clear_problem(name: str) -> None:
    event = dressed(name, FILL)
    del event["body"], event["isBase64Encoded"]
    assert check_problem_reply(*send(event))["code"] == "invalid_json"


# Headers


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("headers", [None, {}])
@pytest.mark.parametrize("path", [FILL, "/health", "/nothing"])
def test_headers_null_or_empty_are_no_trouble(name: str, headers: Any, path: str) -> None:
    event = dressed(name, path, REQUEST, method="GET" if path == "/health" else "POST")
    event |= {field: headers for field in ("headers", "multiValueHeaders") if field in event}
    assert send(event).status == (404 if path == "/nothing" else 200)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("host", "[::1]:8080"),
        ("host", "a:b:c"),
        ("host", "name:port"),
        ("x-forwarded-port", "443, 80"),
        ("x-forwarded-for", "192.0.2.1, 192.0.2.2"),
        ("x-name", "café 床"),
        ("content-length", "many"),
    ],
)
@pytest.mark.parametrize("path", [FILL, "/health"])
def test_odd_headers_are_no_trouble(name: str, header: str, value: str, path: str) -> None:
    method = "POST" if path == FILL else "GET"
    assert send(dressed(name, path, REQUEST, method=method, headers={header: value})).status == 200


@pytest.mark.parametrize("name", KINDS)
def test_the_content_type_is_read_in_any_case(name: str) -> None:
    event = dressed(name, FILL, PNG)
    for field in ("headers", "multiValueHeaders"):
        if field in event:
            others = {
                key: value for key, value in event[field].items() if key.lower() != "content-type"
            }
            value: Any = ["Image/PNG"] if field == "multiValueHeaders" else "Image/PNG"
            event[field] = others | {"CONTENT-TYPE": value}
    assert check_problem_reply(*send(event))["code"] == "unsupported_media_type"


# What is an HTTP event


@pytest.mark.parametrize("name", KINDS)
def test_each_gateway_is_known(name: str) -> None:
    expected = {
        "rest_v1": RestApi,
        "alb": LoadBalancer,
        "alb_multi": MultiValueLoadBalancer,
        "http_api_v2": HttpApi,
        "function_url": HttpApi,
    }
    first = next(gateway for gateway in gateways.ALL if gateway.recognises(sample_event(name)))
    assert type(first) is expected[name]


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        "text",
        {},
        {"requestContext": None},
        {"requestContext": []},
        {"requestContext": {}},
        {"requestContext": {"http": None}, "version": "2.0"},
        {"requestContext": {"connectionId": "a"}, "body": "{}"},
        {"httpMethod": "GET", "path": "/"},
        {"text": TEXT},
        {"Records": []},
    ],
)
def test_other_events_are_not(event: Any) -> None:
    assert not http_service.http().recognises(event)


@pytest.mark.parametrize(
    "event",
    [
        {"version": "2.0", "requestContext": {"http": {}}},
        {
            "version": "2.0",
            "requestContext": {"http": {"method": None, "path": None}},
            "rawPath": None,
        },
        {"requestContext": {"elb": {}}},
        {"requestContext": {}, "httpMethod": None, "path": None},
    ],
)
def test_a_bare_event_asks_for_the_page(event: Event) -> None:
    gateway = next(gateway for gateway in gateways.ALL if gateway.recognises(event))
    request = gateway.read(event, "")
    assert (request.method, request.route, request.headers, request.body) == ("GET", "/", {}, b"")
    assert send(event).status == send(dressed("http_api_v2", "/", method="GET")).status
