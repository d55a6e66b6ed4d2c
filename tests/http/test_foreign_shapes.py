"""What the clients of the two foreign shapes send and read beyond their documentation."""

import json
from typing import Any

import pytest

from support import http_service
from support.http_service import ask, problem

TEXT = "今天天气很[MASK]。"


def answered(path: str, request: Any) -> Any:
    reply = ask(http_service.http(), path, json.dumps(request))
    assert reply.status == 200, reply.body
    return reply.json


@pytest.mark.parametrize(
    ("path", "request_", "nulls"),
    [
        (
            "/v1/embeddings",
            {"input": "你好"},
            {"model": None, "encoding_format": None, "dimensions": None, "user": None},
        ),
        ("/hf/fill-mask", {"inputs": TEXT}, {"parameters": None, "options": None}),
        ("/hf/fill-mask", {"inputs": TEXT}, {"parameters": {"top_k": None, "targets": None}}),
        ("/hf/feature-extraction", {"inputs": "你好"}, {"normalize": None, "dimensions": None}),
        (
            "/hf/sentence-similarity",
            {"inputs": {"source_sentence": "你好", "sentences": ["您好"]}},
            {"parameters": None, "options": None},
        ),
    ],
)
def test_null_means_absent(path: str, request_: Any, nulls: Any) -> None:
    assert answered(path, request_ | nulls) == answered(path, request_)


@pytest.mark.parametrize(
    ("path", "request_"),
    [
        ("/v1/fill-mask", {"text": TEXT, "top_k": None}),
        ("/v1/fill-mask", {"text": TEXT, "targets": None}),
        ("/v1/similarity", {"texts": ["你好"], "against": None}),
        ("/v1/embeddings", {"input": None}),
        ("/hf/fill-mask", {"inputs": None}),
    ],
)
def test_null_is_wrong_in_our_own_shapes_and_in_required_fields(path: str, request_: Any) -> None:
    reply = ask(http_service.http(), path, json.dumps(request_))
    assert problem(reply)["code"] == "invalid_request"


def test_one_target_may_be_a_string() -> None:
    one = answered("/hf/fill-mask", {"inputs": TEXT, "parameters": {"targets": "好"}})
    several = answered("/hf/fill-mask", {"inputs": TEXT, "parameters": {"targets": ["好"]}})
    assert one == several
    assert one[0]["token_str"] == "好"


def test_the_blank_ones_among_many_texts_are_named() -> None:
    texts = ["你好", "", " ", "\u3000", "\n", "您好"]
    reply = ask(http_service.http(), "/v1/embeddings", json.dumps({"input": texts}))
    found = problem(reply)
    assert found["detail"] == (
        "There is nothing to embed in input[1], input[2], input[3] and 1 more text."
    )
    assert found["error"]["message"] == found["detail"]
    assert found["error"]["param"] == "input[1]"


def test_a_fault_of_ours_is_a_servers_error() -> None:
    events = http_service.http(http_service.no_service)
    reply = ask(events, "/v1/embeddings", json.dumps({"input": "你好"}))
    assert problem(reply)["error"]["type"] == "server_error"
    assert problem(ask(events, "/v1/models", method="GET"))["code"] == "engine_unavailable"
