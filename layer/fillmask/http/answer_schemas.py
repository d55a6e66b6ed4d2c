"""JSON Schemas of answers and problems, for the OpenAPI document."""

from collections.abc import Mapping
from typing import Any, Final

from fillmask import limits
from fillmask.problem import TABLE

NUMBER, INTEGER, STRING, BOOLEAN, ANY = (
    {"type": name} for name in ("number", "integer", "string", "boolean", "object")
)


def members(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def list_of(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def nullable(of: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [of, {"type": "null"}]}


EXTENT: Final = members({"start": INTEGER, "end": INTEGER})
CANDIDATE: Final = members(
    {"token": STRING, "id": nullable(INTEGER), "score": nullable(NUMBER), "sequence": STRING},
    in_vocabulary=BOOLEAN,
    pieces=list_of(STRING),
    reason=nullable({"enum": ["mask", "unknown", "empty", "too_long"]}),
)
RESULT: Final = members(
    {
        "text": STRING,
        "tokens": INTEGER,
        "masks": list_of(
            members(
                {
                    "start": INTEGER,
                    "end": INTEGER,
                    "window": nullable(EXTENT),
                    "candidates": list_of(CANDIDATE),
                }
            )
        ),
        "fillings": nullable(
            list_of(members({"tokens": list_of(STRING), "score": NUMBER, "sequence": STRING}))
        ),
        "unknown": list_of(
            members(
                {
                    "start": INTEGER,
                    "end": INTEGER,
                    "text": STRING,
                    "reason": {"enum": ["unknown", "dropped"]},
                }
            )
        ),
        "window": nullable(EXTENT),
        "cached": BOOLEAN,
    }
)
MODEL: Final = members({"id": STRING, "digest": STRING})
PROBLEM: Final = members(
    {
        "type": STRING,
        "title": STRING,
        "status": INTEGER,
        "detail": STRING,
        "code": {"enum": list(TABLE)},
    },
    errors=list_of(members({"field": STRING, "reason": STRING})),
    index=INTEGER,
    hint=nullable(STRING),
    limit={"enum": list(limits.TABLE)},
    maximum=INTEGER,
    size=INTEGER,
    request_id=STRING,
    message=STRING,
    error=STRING,
)

VECTOR: Final = {"anyOf": [list_of(NUMBER), STRING]}
EMBEDDINGS: Final = members(
    {
        "object": {"const": "list"},
        "model": STRING,
        "data": list_of(
            members({"object": {"const": "embedding"}, "index": INTEGER, "embedding": VECTOR})
        ),
        "usage": members({"prompt_tokens": INTEGER, "total_tokens": INTEGER, "windows": INTEGER}),
    }
)
HF_CANDIDATES: Final = list_of(
    members({"score": NUMBER, "token": nullable(INTEGER), "token_str": STRING, "sequence": STRING})
)
BY_MASK: Final = {"anyOf": [HF_CANDIDATES, list_of(HF_CANDIDATES)]}
