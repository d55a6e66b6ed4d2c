"""The events of the gateways: one request reads the same in each, whatever the oddities of each."""

import json
from typing import Any

import pytest

from fillmask.http import gateways
from fillmask.http.gateways import HttpApi, LoadBalancer, MultiValueLoadBalancer, RestApi
from support import http_service
from support.http_cases import ANSWERED, FILL, PNG, REFUSED, TEXT
from support.http_events_made import KINDS, STAGED, Answer, answer, dressed
from support.problems import SECRET, check_problem_reply
from support.samples import Event, sample_event

REQUEST = json.dumps({"text": TEXT, "top_k": 3}, ensure_ascii=False)


def send(event: Event, base_path: str = "") -> Answer:
    return answer(http_service.http(base_path=base_path).answer(event, None))


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


# Paths


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
