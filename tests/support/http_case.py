"""One request over HTTP and what comes of it: a row of http_cases.py, and how one is written."""

import json
from typing import Any, NamedTuple

from fillmask import limits

FILL, EMBED, SIMILAR = "/v1/fill-mask", "/v1/embeddings", "/v1/similarity"
HF_FILL, HF_FEATURES, HF_SIMILAR = (
    "/hf/fill-mask",
    "/hf/feature-extraction",
    "/hf/sentence-similarity",
)
TEXT = "床前明月光，疑是地[MASK]霜。"
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")
JSON = "application/json"


class Case(NamedTuple):
    """A request, and the code of its problem ("" for an answer).

    `members` are what the problem has besides the members of every problem.
    """

    name: str
    path: str
    body: bytes | str | None
    code: str = ""
    content_type: str = JSON
    members: dict[str, Any] = {}  # noqa: RUF012  (never changed)


def ask(name: str, path: str, request: object, code: str = "", **members: Any) -> Case:
    return Case(name, path, json.dumps(request, ensure_ascii=False).encode(), code, members=members)


def fill(name: str, code: str = "", members: dict[str, Any] | None = None, **request: Any) -> Case:
    return ask(name, FILL, {"text": TEXT} | request, code, **(members or {}))


def raw(name: str, body: bytes | str | None, code: str, content_type: str = JSON) -> Case:
    return Case(name, FILL, body, code, content_type)


def invalid(name: str, path: str, request: object, *fields: str) -> Case:
    """A request with exactly these fields wrong."""
    return Case(
        name,
        path,
        json.dumps(request).encode(),
        "invalid_request",
        members={"fields": list(fields)},
    )


def too_large(name: str, path: str, request: object, limit: str, size: int, **members: Any) -> Case:
    return ask(
        name,
        path,
        request,
        "too_large",
        limit=limit,
        maximum=limits.TABLE[limit],
        size=size,
        **members,
    )
