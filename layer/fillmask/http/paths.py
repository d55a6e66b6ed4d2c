"""Every path of the API with its schemas and examples, as data for the OpenAPI document."""

from typing import Any, Final

from fillmask import VERSION, limits
from fillmask.http.answer_schemas import (
    ANY,
    BOOLEAN,
    BY_MASK,
    EMBEDDINGS,
    MODEL,
    NUMBER,
    RESULT,
    list_of,
    members,
)
from fillmask.requests import schema

MODEL_EXAMPLE: Final = {
    "id": "fillmask-zh-mini",
    "digest": "sha256:" + 2 * "0cf0e1757f77cc0137c7facab02def5b",
}

POSTS: Final[dict[str, dict[str, Any]]] = {
    "/v1/fill-mask": {
        "summary": "Fill every [MASK]",
        "request": schema.FILL_MASK,
        "answer": members({"model": MODEL, "results": list_of(RESULT)}),
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
        "answer": members({"model": MODEL, "matrix": list_of(list_of(NUMBER))}),
        "answer_example": {"model": MODEL_EXAMPLE, "matrix": [[0.6187, 0.5565]]},
        "examples": {
            "one against two": {"texts": ["我想退货"], "against": ["怎么退款？", "今天天气很好"]}
        },
    },
    "/hf/fill-mask": {
        "summary": "Fill masks (Hugging Face's shape)",
        "request": schema.HF_FILL_MASK,
        "answer": {"anyOf": [BY_MASK, list_of(BY_MASK)]},
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
        "answer": {"anyOf": [list_of(NUMBER), list_of(list_of(NUMBER))]},
        "answer_example": [0.6969, 0.7172],
        "examples": {
            "one text": {"inputs": "今天天气很好", "dimensions": 2},
            "several": {"inputs": ["你好", "您好"]},
        },
    },
    "/hf/sentence-similarity": {
        "summary": "Compare one text with others (Hugging Face's shape)",
        "request": schema.HF_SIMILARITY,
        "answer": list_of(NUMBER),
        "answer_example": [0.6187, 0.5531],
        "examples": {
            "two": {"inputs": {"source_sentence": "我想退货", "sentences": ["怎么退款？", "你好"]}}
        },
    },
}
GETS: Final[dict[str, dict[str, Any]]] = {
    "health": {
        "summary": "Alive; needs no model",
        "answer": members({"ok": BOOLEAN}),
        "answer_example": {"ok": True},
        "errors": (),
    },
    "info": {
        "summary": "The model, the limits, the versions",
        "answer": members({"model": ANY, "limits": ANY, "versions": ANY}),
        "answer_example": {
            "model": MODEL_EXAMPLE,
            "limits": dict(limits.TABLE),
            "versions": {"fillmask": VERSION},
        },
        "errors": ("engine_unavailable", "internal"),
    },
}
