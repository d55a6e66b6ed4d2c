"""The OpenAPI document's parts that FastAPI cannot know: schemas as data, examples, errors; and GET /info."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

from fillmask import schema
from fillmask.manifest import Manifest
from fillmask.problem import TABLE, TYPE_PREFIX

VERSION: Final = "1.0.0"
DESCRIPTION: Final = "Fills [MASK] in Chinese text and embeds text with a BERT in one INT8 ONNX file."
PACKAGES: Final = ("onnxruntime", "numpy", "tokenizers", "fastapi", "mangum")

NUMBER, INTEGER, STRING, BOOLEAN, ANY = (
    {"type": name} for name in ("number", "integer", "string", "boolean", "object"))


def _object(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _nullable(of: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [of, {"type": "null"}]}


EXTENT: Final = _object({"start": INTEGER, "end": INTEGER})
CANDIDATE: Final = _object(
    {"token": STRING, "id": _nullable(INTEGER), "score": _nullable(NUMBER), "sequence": STRING},
    in_vocabulary=BOOLEAN, pieces=_list(STRING), reason=_nullable({"enum": ["mask", "unknown", "empty", "too_long"]}))
RESULT: Final = _object({
    "text": STRING, "tokens": INTEGER,
    "masks": _list(_object({"start": INTEGER, "end": INTEGER, "window": _nullable(EXTENT),
                            "candidates": _list(CANDIDATE)})),
    "fillings": _nullable(_list(_object({"tokens": _list(STRING), "score": NUMBER, "sequence": STRING}))),
    "unknown": _list(_object({"start": INTEGER, "end": INTEGER, "text": STRING,
                              "reason": {"enum": ["unknown", "dropped"]}})),
    "window": _nullable(EXTENT), "cached": BOOLEAN,
})
MODEL: Final = _object({"id": STRING, "digest": STRING})
PROBLEM: Final = _object({"type": STRING, "title": STRING, "status": INTEGER, "detail": STRING, "code": STRING})

VECTOR: Final = {"anyOf": [_list(NUMBER), STRING]}
EMBEDDINGS: Final = _object({
    "object": {"const": "list"}, "model": STRING,
    "data": _list(_object({"object": {"const": "embedding"}, "index": INTEGER, "embedding": VECTOR})),
    "usage": _object({"prompt_tokens": INTEGER, "total_tokens": INTEGER, "windows": INTEGER}),
})
HF_CANDIDATES: Final = _list(_object({"score": NUMBER, "token": _nullable(INTEGER), "token_str": STRING,
                                      "sequence": STRING}))
BY_MASK: Final = {"anyOf": [HF_CANDIDATES, _list(HF_CANDIDATES)]}

POSTS: Final[dict[str, dict[str, Any]]] = {
    "/v1/fill-mask": {
        "summary": "Fill every [MASK]", "request": schema.FILL_MASK,
        "answer": _object({"model": MODEL, "results": _list(RESULT)}),
        "examples": {
            "one mask": {"text": "床前明月光，疑是地[MASK]霜。", "top_k": 5},
            "grammar choice": {"text": "我昨天去[MASK]学校。", "targets": ["了", "着", "过"]},
            "whole fillings": {"text": "今天[MASK][MASK]很好，我们去散步吧。", "mode": "joint"},
            "several texts": {"texts": ["画龙点[MASK]", "守株待[MASK]"], "top_k": 1},
        },
    },
    "/v1/embeddings": {
        "summary": "Embed texts (OpenAI's shape)", "request": schema.EMBED, "answer": EMBEDDINGS,
        "examples": {"one text": {"input": "今天天气很好"}, "several": {"input": ["你好", "您好"], "dimensions": 64}},
    },
    "/v1/similarity": {
        "summary": "Cosine similarity of texts", "request": schema.SIMILARITY,
        "answer": _object({"model": MODEL, "matrix": _list(_list(NUMBER))}),
        "examples": {"one against two": {"texts": ["我想退货"], "against": ["怎么退款？", "今天天气很好"]}},
    },
    "/hf/fill-mask": {
        "summary": "Fill masks (Hugging Face's shape)", "request": schema.HF_FILL_MASK,
        "answer": {"anyOf": [BY_MASK, _list(BY_MASK)]},
        "examples": {"one mask": {"inputs": "画龙点[MASK]", "parameters": {"top_k": 3}}},
    },
    "/hf/feature-extraction": {
        "summary": "Embed texts (Hugging Face's shape)", "request": schema.HF_FEATURES,
        "answer": {"anyOf": [_list(NUMBER), _list(_list(NUMBER))]},
        "examples": {"one text": {"inputs": "今天天气很好"}},
    },
    "/hf/sentence-similarity": {
        "summary": "Compare one text with others (Hugging Face's shape)", "request": schema.HF_SIMILARITY,
        "answer": _list(NUMBER),
        "examples": {"two": {"inputs": {"source_sentence": "我想退货", "sentences": ["怎么退款？", "你好"]}}},
    },
}
GETS: Final[dict[str, dict[str, Any]]] = {
    "health": {"summary": "Alive; needs no model", "answer": _object({"ok": BOOLEAN}), "errors": ()},
    "info": {"summary": "The model, the limits, the versions",
             "answer": _object({"model": ANY, "limits": ANY, "versions": ANY}),
             "errors": ("engine_unavailable",)},
}


def post(path: str) -> dict[str, Any]:
    """What FastAPI's add_api_route is told of a POST."""
    row = POSTS[path]
    body = {"required": True, "content": {"application/json": {
        "schema": row["request"], "examples": {key: {"value": value} for key, value in row["examples"].items()}}}}
    refusals = [code for code in TABLE if code not in ("unknown_event", "not_found", "method_not_allowed")]
    return _route(row["summary"], row["answer"], refusals) | {
        "openapi_extra": {"requestBody": body}, "operation_id": path.strip("/")}


def get(name: str) -> dict[str, Any]:
    """What FastAPI's add_api_route is told of a GET."""
    row = GETS[name]
    return _route(row["summary"], row["answer"], row["errors"]) | {"operation_id": name}


def _route(summary: str, answer: Any, codes: Any) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(TABLE[code][0], []).append(code)
    refusals = {status: {"description": ", ".join(names), "content": {"application/problem+json": {
        "schema": PROBLEM, "examples": {name: {"value": _example(name)} for name in names}}}}
        for status, names in sorted(by_status.items())}
    answered = {200: {"description": "The answer", "content": {"application/json": {"schema": answer}}}}
    return {"summary": summary, "response_model": None, "responses": answered | refusals}


def _example(code: str) -> dict[str, Any]:
    status, title = TABLE[code]
    return {"type": TYPE_PREFIX + code, "title": title, "status": status, "detail": f"{title}.", "code": code}


def info(manifest: Manifest, limits: Mapping[str, int]) -> dict[str, Any]:
    """The answer of GET /info."""
    model = {name: value for name, value in manifest.content.items() if name not in ("special", "files", "format")}
    return {"model": model, "limits": dict(limits),
            "versions": {"fillmask": VERSION, "python": platform.python_version(),
                         **{name: version(name) for name in PACKAGES}}}
