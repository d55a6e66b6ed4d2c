"""The OpenAPI document, from the request schemas, the table of errors and what answers look like; and GET /info.

Written here and not by FastAPI, which knows nothing of the bodies and drops every null from an example.
"""

import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any, Final

from fillmask import limits
from fillmask.model.manifest import Manifest
from fillmask.problem import TABLE, TYPE_PREFIX
from fillmask.requests import schema

VERSION: Final = "1.0.0"
DESCRIPTION: Final = (
    "Fills [MASK] in Chinese text and embeds text with a BERT in one INT8 ONNX file. Every error is "
    "an RFC 9457 problem with a stable code; so are an unknown path (404) and method (405)."
)
NOT_OF_A_POST: Final = ("unknown_event", "not_found", "method_not_allowed")
PACKAGES: Final = ("onnxruntime", "numpy", "tokenizers", "fastapi", "mangum")

NUMBER, INTEGER, STRING, BOOLEAN, ANY = (
    {"type": name} for name in ("number", "integer", "string", "boolean", "object")
)


def _object(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _nullable(of: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [of, {"type": "null"}]}


EXTENT: Final = _object({"start": INTEGER, "end": INTEGER})
CANDIDATE: Final = _object(
    {"token": STRING, "id": _nullable(INTEGER), "score": _nullable(NUMBER), "sequence": STRING},
    in_vocabulary=BOOLEAN,
    pieces=_list(STRING),
    reason=_nullable({"enum": ["mask", "unknown", "empty", "too_long"]}),
)
RESULT: Final = _object(
    {
        "text": STRING,
        "tokens": INTEGER,
        "masks": _list(
            _object(
                {
                    "start": INTEGER,
                    "end": INTEGER,
                    "window": _nullable(EXTENT),
                    "candidates": _list(CANDIDATE),
                }
            )
        ),
        "fillings": _nullable(
            _list(_object({"tokens": _list(STRING), "score": NUMBER, "sequence": STRING}))
        ),
        "unknown": _list(
            _object(
                {
                    "start": INTEGER,
                    "end": INTEGER,
                    "text": STRING,
                    "reason": {"enum": ["unknown", "dropped"]},
                }
            )
        ),
        "window": _nullable(EXTENT),
        "cached": BOOLEAN,
    }
)
MODEL: Final = _object({"id": STRING, "digest": STRING})
MODEL_EXAMPLE: Final = {
    "id": "fillmask-zh-mini",
    "digest": "sha256:" + 2 * "0cf0e1757f77cc0137c7facab02def5b",
}
PROBLEM: Final = _object(
    {
        "type": STRING,
        "title": STRING,
        "status": INTEGER,
        "detail": STRING,
        "code": {"enum": list(TABLE)},
    },
    errors=_list(_object({"field": STRING, "reason": STRING})),
    index=INTEGER,
    hint=_nullable(STRING),
    limit={"enum": list(limits.TABLE)},
    maximum=INTEGER,
    size=INTEGER,
    request_id=STRING,
    message=STRING,
    error=STRING,
)
EXTRA: Final[
    dict[str, dict[str, Any]]
] = {  # what a problem of a code has beside its five members, for the examples
    "invalid_request": {"errors": [{"field": "top_k", "reason": "must be from 1 to 100"}]},
    "no_mask": {
        "index": 0,
        "hint": "the text has 【MASK】 in Chinese brackets; the mask is written [MASK]",
    },
    "too_large": {"limit": "texts", "maximum": limits.MAX_TEXTS, "size": 65},
    "internal": {"request_id": "6f1ed002-ab5a-4f5e-9f5c-1d2e3f4a5b6c"},
}

VECTOR: Final = {"anyOf": [_list(NUMBER), STRING]}
EMBEDDINGS: Final = _object(
    {
        "object": {"const": "list"},
        "model": STRING,
        "data": _list(
            _object({"object": {"const": "embedding"}, "index": INTEGER, "embedding": VECTOR})
        ),
        "usage": _object({"prompt_tokens": INTEGER, "total_tokens": INTEGER, "windows": INTEGER}),
    }
)
HF_CANDIDATES: Final = _list(
    _object({"score": NUMBER, "token": _nullable(INTEGER), "token_str": STRING, "sequence": STRING})
)
BY_MASK: Final = {"anyOf": [HF_CANDIDATES, _list(HF_CANDIDATES)]}

POSTS: Final[dict[str, dict[str, Any]]] = {
    "/v1/fill-mask": {
        "summary": "Fill every [MASK]",
        "request": schema.FILL_MASK,
        "answer": _object({"model": MODEL, "results": _list(RESULT)}),
        "answer_example": {
            "model": MODEL_EXAMPLE,
            "results": [
                {
                    "text": "床前明月光，疑是地[MASK]霜。",
                    "tokens": 14,
                    "fillings": None,
                    "unknown": [],
                    "window": None,
                    "cached": False,
                    "masks": [
                        {
                            "start": 9,
                            "end": 15,
                            "window": None,
                            "candidates": [
                                {
                                    "token": "上",
                                    "id": 284,
                                    "score": 0.7313,
                                    "sequence": "床前明月光，疑是地上霜。",
                                }
                            ],
                        }
                    ],
                }
            ],
        },
        "examples": {
            "one mask": {"text": "床前明月光，疑是地[MASK]霜。", "top_k": 5},
            "grammar choice": {"text": "我昨天去[MASK]学校。", "targets": ["了", "着", "过"]},
            "whole fillings": {"text": "今天[MASK][MASK]很好，我们去散步吧。", "mode": "joint"},
            "several texts": {"texts": ["画龙点[MASK]", "守株待[MASK]"], "top_k": 1},
        },
    },
    "/v1/embeddings": {
        "summary": "Embed texts (OpenAI's shape)",
        "request": schema.EMBED,
        "answer": EMBEDDINGS,
        "answer_example": {
            "object": "list",
            "model": "fillmask-zh-mini",
            "data": [{"object": "embedding", "index": 0, "embedding": [0.6969, 0.7172]}],
            "usage": {"prompt_tokens": 8, "total_tokens": 8, "windows": 1},
        },
        "examples": {
            "one text": {"input": "今天天气很好", "dimensions": 2},
            "several": {"input": ["你好", "您好"], "dimensions": 64},
        },
    },
    "/v1/similarity": {
        "summary": "Cosine similarity of texts",
        "request": schema.SIMILARITY,
        "answer": _object({"model": MODEL, "matrix": _list(_list(NUMBER))}),
        "answer_example": {"model": MODEL_EXAMPLE, "matrix": [[0.6187, 0.5565]]},
        "examples": {
            "one against two": {"texts": ["我想退货"], "against": ["怎么退款？", "今天天气很好"]}
        },
    },
    "/hf/fill-mask": {
        "summary": "Fill masks (Hugging Face's shape)",
        "request": schema.HF_FILL_MASK,
        "answer": {"anyOf": [BY_MASK, _list(BY_MASK)]},
        "answer_example": [
            {
                "score": 0.7313,
                "token": 284,
                "token_str": "上",
                "sequence": "床前明月光，疑是地上霜。",
            }
        ],
        "examples": {
            "one mask": {"inputs": "床前明月光，疑是地[MASK]霜。", "parameters": {"top_k": 1}},
            "grammar choice": {
                "inputs": "我昨天去[MASK]学校。",
                "parameters": {"targets": ["了", "着", "过"]},
            },
        },
    },
    "/hf/feature-extraction": {
        "summary": "Embed texts (Hugging Face's shape)",
        "request": schema.HF_FEATURES,
        "answer": {"anyOf": [_list(NUMBER), _list(_list(NUMBER))]},
        "answer_example": [0.6969, 0.7172],
        "examples": {
            "one text": {"inputs": "今天天气很好", "dimensions": 2},
            "several": {"inputs": ["你好", "您好"]},
        },
    },
    "/hf/sentence-similarity": {
        "summary": "Compare one text with others (Hugging Face's shape)",
        "request": schema.HF_SIMILARITY,
        "answer": _list(NUMBER),
        "answer_example": [0.6187, 0.5531],
        "examples": {
            "two": {"inputs": {"source_sentence": "我想退货", "sentences": ["怎么退款？", "你好"]}}
        },
    },
}
GETS: Final[dict[str, dict[str, Any]]] = {
    "health": {
        "summary": "Alive; needs no model",
        "answer": _object({"ok": BOOLEAN}),
        "answer_example": {"ok": True},
        "errors": (),
    },
    "info": {
        "summary": "The model, the limits, the versions",
        "answer": _object({"model": ANY, "limits": ANY, "versions": ANY}),
        "answer_example": {
            "model": MODEL_EXAMPLE,
            "limits": dict(limits.TABLE),
            "versions": {"fillmask": VERSION},
        },
        "errors": ("engine_unavailable", "internal"),
    },
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


def info(manifest: Manifest) -> dict[str, Any]:
    """The answer of GET /info."""
    model = {
        name: value
        for name, value in manifest.content.items()
        if name not in ("special", "files", "format")
    }
    return {
        "model": model,
        "limits": dict(limits.TABLE),
        "versions": {
            "fillmask": VERSION,
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
    }
