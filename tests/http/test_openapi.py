"""The OpenAPI document says what the application does.

By its own examples, by every request of the tests, and by thousands that schemathesis makes.
"""

from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from schemathesis import Case, CheckContext, Response
from schemathesis.checks import positive_data_acceptance

from fillmask.http.app import create_app
from fillmask.http.respond import PATHS
from support import http_cases, http_service
from support.http_events_made import Answer, answer, dressed

# What a right request can still be refused for, since a JSON Schema cannot say it.
BEYOND_A_SCHEMA = {
    "has no character the model can see",
    "must be at most 256, what the model has",
    "have nothing to score",
    "must have one that is a single token in joint mode: whole fillings are made of those",
    "must be an integer",
    "must be an integer or null",  # 5.0 is an integer there, and none here
}
CONFIG = schemathesis.Config.from_dict(
    {
        "seed": 1,
        "generation": {
            "mode": "all",
            "max-examples": 100,
            "deterministic": True,
            "database": "none",
        },
        "checks": {
            "negative_data_rejection": {
                "expected-statuses": ["400", "404", "405", "413", "415", "422"]
            }
        },
    }
)
MADE = schemathesis.openapi.from_asgi(
    "/openapi.json", create_app(http_service.service, http_service.settings()), config=CONFIG
)
DOCUMENT: dict[str, Any] = dict(MADE.raw_schema)
POSTS = [path for path, row in DOCUMENT["paths"].items() if "post" in row]


@schemathesis.check
def right_requests_are_answered(ctx: CheckContext, response: Response, case: Case[Any]) -> None:
    """In place of positive_data_acceptance, which knows statuses but not reasons."""
    if (
        case.meta is None
        or not case.meta.generation.mode.is_positive
        or response.status_code == 413
    ):
        return
    reasons = (
        {row["reason"] for row in response.json()["errors"]}
        if response.status_code == 422
        else set()
    )
    if not reasons or reasons - BEYOND_A_SCHEMA:
        positive_data_acceptance(ctx, response, case)


@MADE.parametrize()
def test_schemathesis_finds_nothing(case: Case[Any]) -> None:
    case.call_and_validate(excluded_checks=[positive_data_acceptance])


def send(
    path: str, body: Any, content_type: str = "application/json", method: str = "POST"
) -> Answer:
    event = dressed(
        "http_api_v2", path, body, method=method, headers={"content-type": content_type}
    )
    return answer(http_service.http().answer(event, None))


def check(schema: Any, value: Any) -> None:
    jsonschema_rs.validator_for(schema | {"components": DOCUMENT["components"]}).validate(value)


def content(path: str, method: str, status: int) -> dict[str, Any]:
    """What the document says of a body: media type -> schema and examples."""
    said: dict[str, Any] = DOCUMENT["paths"][path][method]["responses"][str(status)]["content"]
    return said


def test_every_path_is_described() -> None:
    assert set(POSTS) == set(PATHS)
    assert set(DOCUMENT["paths"]) == set(PATHS) | {"/v1/models", "/health", "/info"}
    for row in DOCUMENT["paths"].values():
        for operation in row.values():
            assert operation["summary"]
            assert operation["operationId"]
            assert all(said["description"] for said in operation["responses"].values())


@pytest.mark.parametrize("path", POSTS)
def test_examples_of_requests_fit_their_schema_and_are_answered(path: str) -> None:
    body = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    assert jsonschema_rs.meta.is_valid(body["schema"])
    for example in body["examples"].values():
        check(body["schema"], example["value"])
        reply = send(path, jsonschema_rs.canonical.json.to_string(example["value"]))
        assert reply.status == 200
        check(content(path, "post", 200)["application/json"]["schema"], reply.json)


@pytest.mark.parametrize("path", DOCUMENT["paths"])
def test_examples_of_answers_and_problems_fit_their_schemas(path: str) -> None:
    for method, operation in DOCUMENT["paths"][path].items():
        for status in operation["responses"]:
            for media_type, said in content(path, method, status).items():
                assert media_type == (
                    "application/json" if status == "200" else "application/problem+json"
                )
                examples = (
                    [said["example"]]
                    if status == "200"
                    else [row["value"] for row in said["examples"].values()]
                )
                for example in examples:
                    check(said["schema"], example)
                    assert status == "200" or example["status"] == int(status)


@pytest.mark.parametrize("case", http_cases.ALL, ids=lambda case: case.name)
def test_every_answer_is_as_described(case: http_cases.Case) -> None:
    reply = send(case.path, case.body, case.content_type)
    said = content(case.path, "post", reply.status)[reply.headers["content-type"]]
    check(said["schema"], reply.json)
    assert case.code == "" or case.code in said["examples"]


@pytest.mark.parametrize("path", ["/health", "/info"])
def test_answers_to_get_are_as_described(path: str) -> None:
    check(
        content(path, "get", 200)["application/json"]["schema"], send(path, None, method="GET").json
    )


def test_the_document_needs_no_model() -> None:
    event = dressed("http_api_v2", "/openapi.json", method="GET")
    assert answer(http_service.http(http_service.no_service).answer(event, None)).json == DOCUMENT
