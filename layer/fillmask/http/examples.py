"""Examples for the OpenAPI document: requests to each path with one answer, and problems."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from fillmask import limits
from fillmask.adapters import Answer, Event
from fillmask.http.info import VERSION
from fillmask.problem import TABLE, TYPE_PREFIX


class Examples(NamedTuple):
    """Requests by their titles, and the answer to one of them."""

    requests: Mapping[str, Event]
    answer: Any


_POEM: Final = "床前明月光，疑是地[MASK]霜。"
_POEM_FILLED: Final = "床前明月光，疑是地上霜。"
_ASPECT: Final = "我昨天去[MASK]学校。"
_WEATHER: Final = "今天天气很好"
_REFUND: Final = "我想退货"

_MODEL: Final = {
    "id": "fillmask-zh-mini",
    "digest": "sha256:" + 2 * "0cf0e1757f77cc0137c7facab02def5b",
}

_MASK: Final = {
    "start": 9,
    "end": 15,
    "window": None,
    "candidates": [{"token": "上", "id": 284, "score": 0.7313, "sequence": _POEM_FILLED}],
}
_RESULT: Final = {
    "text": _POEM,
    "tokens": 14,
    "fillings": None,
    "unknown": [],
    "window": None,
    "cached": False,
    "masks": [_MASK],
}
FILL_MASK: Final = Examples(
    requests={
        "one mask": {"text": _POEM, "top_k": 5},
        "grammar choice": {"text": _ASPECT, "targets": ["了", "着", "过"]},
        "whole fillings": {"text": "今天[MASK][MASK]很好，我们去散步吧。", "mode": "joint"},
        "several texts": {"texts": ["画龙点[MASK]", "守株待[MASK]"], "top_k": 1},
    },
    answer={"model": _MODEL, "results": [_RESULT]},
)

EMBEDDINGS: Final = Examples(
    requests={
        "one text": {"input": _WEATHER, "dimensions": 2},
        "several": {"input": ["你好", "您好"], "dimensions": 64},
    },
    answer={
        "object": "list",
        "model": _MODEL["id"],
        "data": [{"object": "embedding", "index": 0, "embedding": [0.6969, 0.7172]}],
        "usage": {"prompt_tokens": 8, "total_tokens": 8, "windows": 1, "unknown_tokens": 0},
    },
)

SIMILARITY: Final = Examples(
    requests={"one against two": {"texts": [_REFUND], "against": ["怎么退款？", _WEATHER]}},
    answer={"model": _MODEL, "matrix": [[0.6187, 0.5565]]},
)

HF_FILL_MASK: Final = Examples(
    requests={
        "one mask": {"inputs": _POEM, "parameters": {"top_k": 1}},
        "grammar choice": {"inputs": _ASPECT, "parameters": {"targets": ["了", "着", "过"]}},
    },
    answer=[{"score": 0.7313, "token": 284, "token_str": "上", "sequence": _POEM_FILLED}],
)

HF_FEATURES: Final = Examples(
    requests={
        "one text": {"inputs": _WEATHER, "dimensions": 2},
        "several": {"inputs": ["你好", "您好"]},
    },
    answer=[0.6969, 0.7172],
)

HF_SIMILARITY: Final = Examples(
    requests={
        "two": {"inputs": {"source_sentence": _REFUND, "sentences": ["怎么退款？", "你好"]}},
    },
    answer=[0.6187, 0.5531],
)

MODELS: Final = {
    "object": "list",
    "data": [{"id": _MODEL["id"], "object": "model", "created": 0, "owned_by": "fillmask"}],
}

INFO: Final = {
    "model": _MODEL,
    "limits": dict(limits.TABLE),
    "versions": {"fillmask": VERSION},
}

# What a problem of a code has besides the members that all have.
_PROBLEM_MEMBERS: Final[dict[str, Answer]] = {
    "invalid_request": {"errors": [{"field": "top_k", "reason": "must be from 1 to 100"}]},
    "no_mask": {
        "index": 0,
        "hint": "the text has 【MASK】 in Chinese brackets; the mask is written [MASK]",
    },
    "too_large": {"limit": "texts", "maximum": limits.MAX_TEXTS, "size": 65},
    "internal": {"request_id": "6f1ed002-ab5a-4f5e-9f5c-1d2e3f4a5b6c"},
}


def problem(code: str) -> Answer:
    """A problem with this code."""
    status, title = TABLE[code]
    return {
        "type": TYPE_PREFIX + code,
        "title": title,
        "status": status,
        "detail": f"{title}.",
        "code": code,
        **_PROBLEM_MEMBERS.get(code, {}),
    }
