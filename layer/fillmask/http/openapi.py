"""The OpenAPI document, put together from the schemas of requests and answers and the examples.

Written here and not by FastAPI, which knows nothing of the bodies and drops every null from an
example.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from fillmask.http import answer_schemas as answers
from fillmask.http import examples
from fillmask.http.examples import Examples
from fillmask.http.info import HEALTH, VERSION
from fillmask.problem import TABLE
from fillmask.requests import schema
from fillmask.requests.schema import Schema

Document = dict[str, Any]  # the whole, or an object in it

_JSON: Final = "application/json"
_PROBLEM: Final = "application/problem+json"

_DESCRIPTION: Final = (
    "Fills [MASK] in Chinese text and embeds text with a BERT in one INT8 ONNX file. Every error "
    "is an RFC 9457 problem with a stable code; so are an unknown path (404) and method (405)."
)

_ERRORS_OF_INFO: Final = ("engine_unavailable", "internal")
_ERRORS_OF_POST: Final = tuple(
    code for code in TABLE if code not in ("unknown_event", "not_found", "method_not_allowed")
)


class Post(NamedTuple):
    """An operation: what it is, and the schemas and examples of its request and answer."""

    summary: str
    request: Schema
    answer: Schema
    examples: Examples


_POSTS: Final = {
    "/v1/fill-mask": Post(
        "Fill every [MASK]", schema.FILL_MASK, answers.FILL_MASK, examples.FILL_MASK
    ),
    "/v1/embeddings": Post(
        "Embed texts (OpenAI's shape)", schema.OPENAI_EMBED, answers.EMBEDDINGS, examples.EMBEDDINGS
    ),
    "/v1/similarity": Post(
        "Cosine similarity of texts", schema.SIMILARITY, answers.SIMILARITY, examples.SIMILARITY
    ),
    "/hf/fill-mask": Post(
        "Fill masks (Hugging Face's shape)",
        schema.HF_FILL_MASK,
        answers.HF_FILL_MASK,
        examples.HF_FILL_MASK,
    ),
    "/hf/feature-extraction": Post(
        "Embed texts (Hugging Face's shape)",
        schema.HF_FEATURES,
        answers.HF_FEATURES,
        examples.HF_FEATURES,
    ),
    "/hf/sentence-similarity": Post(
        "Compare one text with others (Hugging Face's shape)",
        schema.HF_SIMILARITY,
        answers.HF_SIMILARITY,
        examples.HF_SIMILARITY,
    ),
}


def document() -> Document:
    """The whole document, for the root path "/"."""
    posts = {path: {"post": _post(path, row)} for path, row in _POSTS.items()}

    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Chinese fill-mask",
            "version": VERSION,
            "description": _DESCRIPTION,
        },
        "paths": {
            **posts,
            "/v1/models": {"get": _models()},
            "/health": {"get": _health()},
            "/info": {"get": _info()},
        },
        "components": {"schemas": {"Problem": answers.PROBLEM}},
    }


def _post(path: str, row: Post) -> Document:
    requests = {name: {"value": value} for name, value in row.examples.requests.items()}
    return {
        "summary": row.summary,
        "operationId": path.strip("/").replace("/", "-"),
        "responses": _answered(row.answer, row.examples.answer) | _refused(_ERRORS_OF_POST),
        "requestBody": {
            "required": True,
            "content": {_JSON: {"schema": row.request, "examples": requests}},
        },
    }


def _health() -> Document:
    return {
        "summary": "Alive; needs no model",
        "operationId": "health",
        "responses": _answered(answers.HEALTH, HEALTH),
    }


def _info() -> Document:
    return {
        "summary": "The model, the limits, the versions",
        "operationId": "info",
        "responses": _answered(answers.INFO, examples.INFO) | _refused(_ERRORS_OF_INFO),
    }


def _models() -> Document:
    return {
        "summary": "The one model, in OpenAI's shape",
        "operationId": "models",
        "responses": _answered(answers.MODELS, examples.MODELS) | _refused(_ERRORS_OF_INFO),
    }


def _answered(answer: Schema, example: object) -> Document:
    """The response with status 200."""
    content = {_JSON: {"schema": answer, "example": example}}
    return {"200": {"description": "The answer", "content": content}}


def _refused(codes: Iterable[str]) -> Document:
    """One response for each status that the codes have, with an example of each code."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        status, _ = TABLE[code]
        by_status.setdefault(status, []).append(code)

    return {str(status): _problems(by_status[status]) for status in sorted(by_status)}


def _problems(codes: list[str]) -> Document:
    content = {
        "schema": {"$ref": "#/components/schemas/Problem"},
        "examples": {code: {"value": examples.problem(code)} for code in codes},
    }
    return {"description": ", ".join(codes), "content": {_PROBLEM: content}}
