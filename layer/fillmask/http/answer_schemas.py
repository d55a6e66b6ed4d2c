"""JSON Schemas of what comes back: answers of each path, and problems.

Documentation alone. The tests check every answer against them; nothing is checked at run time.
"""

from collections.abc import Mapping
from typing import Final

from fillmask import limits
from fillmask.problem import TABLE
from fillmask.requests.schema import Schema


def _object(required: Mapping[str, Schema], **optional: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_NUMBER: Final = {"type": "number"}
_INTEGER: Final = {"type": "integer"}
_STRING: Final = {"type": "string"}
_BOOLEAN: Final = {"type": "boolean"}
_ANY_OBJECT: Final = {"type": "object"}

_MODEL: Final = _object({"id": _STRING, "digest": _STRING})

# The native operations

_EXTENT: Final = _object({"start": _INTEGER, "end": _INTEGER})
_CANDIDATE: Final = _object(
    {
        "token": _STRING,
        "id": _or_null(_INTEGER),
        "score": _or_null(_NUMBER),
        "sequence": _STRING,
    },
    in_vocabulary=_BOOLEAN,
    pieces=_list(_STRING),
    reason=_or_null({"enum": ["mask", "unknown", "empty", "too_long"]}),
)
_MASK: Final = _object(
    {
        "start": _INTEGER,
        "end": _INTEGER,
        "window": _or_null(_EXTENT),
        "candidates": _list(_CANDIDATE),
    }
)
_FILLING: Final = _object({"tokens": _list(_STRING), "score": _NUMBER, "sequence": _STRING})
_UNKNOWN: Final = _object(
    {
        "start": _INTEGER,
        "end": _INTEGER,
        "text": _STRING,
        "reason": {"enum": ["unknown", "dropped"]},
    }
)
_RESULT: Final = _object(
    {
        "text": _STRING,
        "tokens": _INTEGER,
        "masks": _list(_MASK),
        "fillings": _or_null(_list(_FILLING)),
        "unknown": _list(_UNKNOWN),
        "window": _or_null(_EXTENT),
        "cached": _BOOLEAN,
    }
)
FILL_MASK: Final = _object({"model": _MODEL, "results": _list(_RESULT)})

SIMILARITY: Final = _object({"model": _MODEL, "matrix": _list(_list(_NUMBER))})

# OpenAI's shape

_EMBEDDING: Final = _object(
    {
        "object": {"const": "embedding"},
        "index": _INTEGER,
        "embedding": {"anyOf": [_list(_NUMBER), _STRING]},
    }
)
_USAGE: Final = _object(
    {
        "prompt_tokens": _INTEGER,
        "total_tokens": _INTEGER,
        "windows": _INTEGER,
        "unknown_tokens": _INTEGER,
    }
)
EMBEDDINGS: Final = _object(
    {
        "object": {"const": "list"},
        "model": _STRING,
        "data": _list(_EMBEDDING),
        "usage": _USAGE,
    }
)

_LISTED_MODEL: Final = _object(
    {
        "id": _STRING,
        "object": {"const": "model"},
        "created": _INTEGER,
        "owned_by": _STRING,
    }
)
MODELS: Final = _object({"object": {"const": "list"}, "data": _list(_LISTED_MODEL)})
_OPENAI_ERROR: Final = _object(
    {
        "message": _STRING,
        "type": {"enum": ["invalid_request_error", "server_error"]},
        "code": {"enum": list(TABLE)},
        "param": _or_null(_STRING),
    }
)

# Hugging Face's shapes

_HF_CANDIDATE: Final = _object(
    {
        "score": _NUMBER,
        "token": _or_null(_INTEGER),
        "token_str": _STRING,
        "sequence": _STRING,
    }
)
_HF_CANDIDATES: Final = _list(_HF_CANDIDATE)
_HF_TEXT: Final = {"anyOf": [_HF_CANDIDATES, _list(_HF_CANDIDATES)]}  # one mask, or several
HF_FILL_MASK: Final = {"anyOf": [_HF_TEXT, _list(_HF_TEXT)]}  # one text, or several
HF_FEATURES: Final = {"anyOf": [_list(_NUMBER), _list(_list(_NUMBER))]}
HF_SIMILARITY: Final = _list(_NUMBER)

# What is told of the function itself

HEALTH: Final = _object({"ok": _BOOLEAN})
INFO: Final = _object({"model": _ANY_OBJECT, "limits": _ANY_OBJECT, "versions": _ANY_OBJECT})

# Errors: RFC 9457, and members of single codes

PROBLEM: Final = _object(
    {
        "type": _STRING,
        "title": _STRING,
        "status": _INTEGER,
        "detail": _STRING,
        "code": {"enum": list(TABLE)},
    },
    errors=_list(_object({"field": _STRING, "reason": _STRING})),
    index=_INTEGER,
    hint=_or_null(_STRING),
    limit={"enum": list(limits.TABLE)},
    maximum=_INTEGER,
    size=_INTEGER,
    request_id=_STRING,
    error={"anyOf": [_STRING, _OPENAI_ERROR]},
)
