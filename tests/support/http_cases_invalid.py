"""Requests over HTTP that are JSON and still wrong in their fields; a part of http_cases.py."""

from support.http_case import (
    EMBED,
    FILL,
    HF_FEATURES,
    HF_FILL,
    HF_SIMILAR,
    SIMILAR,
    TEXT,
    Case,
    invalid,
)
from support.problems import SECRET

INVALID = [
    *(
        Case(
            f"top_k {value[:9]}",
            FILL,
            f'{{"text": "{TEXT}", "top_k": {value}}}'.encode(),
            "invalid_request",
            members={"fields": ["top_k"]},
        )
        for value in (
            "0",
            "-1",
            "101",
            "1000000000",
            "true",
            '"5"',
            "5.0",
            "5.5",
            "null",
            "9" * 5000,
            "-" + "9" * 5000,
            "NaN",
            "Infinity",
            "-Infinity",
            "1e400",
            "[5]",
            "{}",
        )
    ),
    *(
        invalid(f"a body that is {name}", FILL, body, "")
        for name, body in (
            ("a list", []),
            ("a text", SECRET),
            ("a number", 5),
            ("null", None),
            ("true", True),
        )
    ),
    invalid("neither text nor texts", FILL, {}, ""),
    invalid("both text and texts", FILL, {"text": TEXT, "texts": [TEXT]}, ""),
    invalid("unknown field", FILL, {"text": TEXT, SECRET: SECRET}, ""),
    invalid("text of a wrong type", FILL, {"text": [TEXT]}, "text"),
    invalid("texts of a wrong type", FILL, {"texts": TEXT}, "texts"),
    invalid("no texts", FILL, {"texts": []}, "texts"),
    invalid("a text among texts", FILL, {"texts": [TEXT, 5, None]}, "texts[1]", "texts[2]"),
    invalid("mode", FILL, {"text": TEXT, "mode": SECRET}, "mode"),
    invalid(
        "booleans",
        FILL,
        {"text": TEXT, "lowercase": 1, "include_subwords": "yes"},
        "lowercase",
        "include_subwords",
    ),
    invalid("no targets", FILL, {"text": TEXT, "targets": []}, "targets"),
    invalid("101 targets", FILL, {"text": TEXT, "targets": ["上"] * 101}, "targets"),
    invalid("targets of wrong types", FILL, {"text": TEXT, "targets": ["上", 5]}, "targets[1]"),
    invalid("half a surrogate pair", FILL, {"text": f"{SECRET}\ud800[MASK]"}, "text"),
    invalid("a pair apart", FILL, {"text": "\ud83d[MASK]\ude00"}, "text"),
    invalid(
        "half a surrogate pair among texts", FILL, {"texts": [TEXT, "\udc00[MASK]"]}, "texts[1]"
    ),
    invalid(
        "half a surrogate pair in a target",
        FILL,
        {"text": TEXT, "targets": ["上", "\ud800"]},
        "targets[1]",
    ),
    invalid("no input", EMBED, {"model": SECRET}, "input"),
    invalid("input of a wrong type", EMBED, {"input": 5}, "input"),
    invalid("input of token ids", EMBED, {"input": [1, 2]}, "input[0]", "input[1]"),
    invalid("no inputs", EMBED, {"input": []}, "input"),
    invalid(
        "nothing to embed", EMBED, {"input": ["你好", "你好", "", " "]}, "input[2]", "input[3]"
    ),
    invalid("nothing to embed alone", EMBED, {"input": "\u200b"}, "input"),
    invalid("half a surrogate pair to embed", EMBED, {"input": ["你好", "\ud800"]}, "input[1]"),
    invalid("format", EMBED, {"input": "你好", "encoding_format": SECRET}, "encoding_format"),
    *(
        invalid(f"dimensions {value}", EMBED, {"input": "你好", "dimensions": value}, "dimensions")
        for value in (0, -1, 257, 5000, 8.0, "8", True)
    ),
    invalid(
        "nothing to compare", SIMILAR, {"texts": ["你好"], "against": ["您好", ""]}, "against[1]"
    ),
    invalid("against nothing", SIMILAR, {"texts": ["你好"], "against": []}, "against"),
    invalid("hf without inputs", HF_FILL, {"text": TEXT}, "inputs"),
    invalid(
        "hf parameters", HF_FILL, {"inputs": TEXT, "parameters": {"top_k": "5"}}, "parameters.top_k"
    ),
    invalid(
        "hf targets with nothing to score",
        HF_FILL,
        {"inputs": TEXT, "parameters": {"targets": [" ", "[MASK]"]}},
        "parameters.targets",
    ),
    invalid("hf nothing to embed", HF_FEATURES, {"inputs": ["你好", ""]}, "inputs[1]"),
    invalid("hf dimensions", HF_FEATURES, {"inputs": "你好", "dimensions": 257}, "dimensions"),
    invalid("hf not normalised", HF_FEATURES, {"inputs": "你好", "normalize": False}, "normalize"),
    invalid(
        "hf sentence missing",
        HF_SIMILAR,
        {"inputs": {"sentences": ["你好"]}},
        "inputs.source_sentence",
    ),
    invalid(
        "hf nothing to compare",
        HF_SIMILAR,
        {"inputs": {"source_sentence": "", "sentences": ["你好", " "]}},
        "inputs.source_sentence",
        "inputs.sentences[1]",
    ),
]
