"""The OpenAPI document, from the paths, the schemas and the table of errors.

It is written here and not by FastAPI, which knows nothing of the bodies and drops every null from
an example.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from fillmask import VERSION, limits
from fillmask.http.answer_schemas import PROBLEM
from fillmask.http.paths import GETS, POSTS
from fillmask.problem import TABLE, TYPE_PREFIX

DESCRIPTION: Final = (
    "Fills [MASK] in Chinese text and embeds text with a BERT in one INT8 ONNX file. Every error "
    "is an RFC 9457 problem with a stable code; so are an unknown path (404) and method (405)."
)
NOT_OF_A_POST: Final = ("unknown_event", "not_found", "method_not_allowed")
# The members of a code's example besides the five of every problem.
EXTRA: Final[dict[str, dict[str, Any]]] = {
    "invalid_request": {"errors": [{"field": "top_k", "reason": "must be from 1 to 100"}]},
    "no_mask": {
        "index": 0,
        "hint": "the text has 【MASK】 in Chinese brackets; the mask is written [MASK]",
    },
    "too_large": {"limit": "texts", "maximum": limits.MAX_TEXTS, "size": 65},
    "internal": {"request_id": "6f1ed002-ab5a-4f5e-9f5c-1d2e3f4a5b6c"},
}


def document() -> dict[str, Any]:
    """The whole document."""
    posts = {path: {"post": _post(path, row)} for path, row in POSTS.items()}
    gets = {f"/{name}": {"get": _operation(row, name, row["errors"])} for name, row in GETS.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Chinese fill-mask", "version": VERSION, "description": DESCRIPTION},
        "paths": posts | gets,
        "components": {"schemas": {"Problem": PROBLEM}},
    }


def _post(path: str, row: Mapping[str, Any]) -> dict[str, Any]:
    examples = {name: {"value": value} for name, value in row["examples"].items()}
    body = {
        "required": True,
        "content": {"application/json": {"schema": row["request"], "examples": examples}},
    }
    errors = [code for code in TABLE if code not in NOT_OF_A_POST]
    return _operation(row, path.strip("/").replace("/", "-"), errors) | {"requestBody": body}


def _operation(row: Mapping[str, Any], name: str, codes: Iterable[str]) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(TABLE[code][0], []).append(code)
    answered = {
        "200": {
            "description": "The answer",
            "content": {
                "application/json": {"schema": row["answer"], "example": row["answer_example"]}
            },
        }
    }
    refused = {
        str(status): {
            "description": ", ".join(names),
            "content": {
                "application/problem+json": {
                    "schema": {"$ref": "#/components/schemas/Problem"},
                    "examples": {name: {"value": _problem(name)} for name in names},
                }
            },
        }
        for status, names in sorted(by_status.items())
    }
    return {"summary": row["summary"], "operationId": name, "responses": answered | refused}


def _problem(code: str) -> dict[str, Any]:
    status, title = TABLE[code]
    return {
        "type": TYPE_PREFIX + code,
        "title": title,
        "status": status,
        "detail": f"{title}.",
        "code": code,
        **EXTRA.get(code, {}),
    }
