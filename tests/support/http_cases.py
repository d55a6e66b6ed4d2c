"""Requests over HTTP and what comes of each: right ones, and every way to be wrong. One table for all the tests."""

import json
from typing import Any, NamedTuple

from fillmask import limits
from support.problems import SECRET

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
    """A request and the code of its problem ("" for an answer); `members` are what the problem has beside."""

    name: str
    path: str
    body: bytes | str | None
    code: str = ""
    content_type: str = JSON
    members: dict[str, Any] = {}  # noqa: RUF012  (never changed)


def _ask(name: str, path: str, request: object, code: str = "", **members: Any) -> Case:
    return Case(name, path, json.dumps(request, ensure_ascii=False).encode(), code, members=members)


def _fill(name: str, code: str = "", members: dict[str, Any] | None = None, **request: Any) -> Case:
    return _ask(name, FILL, {"text": TEXT} | request, code, **(members or {}))


def _raw(name: str, body: bytes | str | None, code: str, content_type: str = JSON) -> Case:
    return Case(name, FILL, body, code, content_type)


def _invalid(name: str, path: str, request: object, *fields: str) -> Case:
    """A request with exactly these fields wrong."""
    return Case(
        name,
        path,
        json.dumps(request).encode(),
        "invalid_request",
        members={"fields": list(fields)},
    )


def _too_large(
    name: str, path: str, request: object, limit: str, size: int, **members: Any
) -> Case:
    return _ask(
        name,
        path,
        request,
        "too_large",
        limit=limit,
        maximum=limits.TABLE[limit],
        size=size,
        **members,
    )


ANSWERED = [
    _fill("one text"),
    _fill("top_k 1", top_k=1),
    _fill("top_k 100", top_k=100),
    _fill("targets", targets=["上", "苹果", "苹", "𠮷", "Apple", "", " ", "[MASK]", "##果", "上"]),
    _ask("several texts and masks", FILL, {"texts": [TEXT, "今天是[MASK][MASK]天"], "top_k": 2}),
    _ask("joint", FILL, {"text": "今天[MASK][MASK]很好", "mode": "joint", "top_k": 3}),
    _fill("all options", lowercase=False, include_subwords=True),
    _raw("text body", json.dumps({"text": TEXT}, ensure_ascii=False), ""),
    _raw("no content type", json.dumps({"text": TEXT}).encode(), "", ""),
    _raw(
        "JSON by another name", json.dumps({"text": TEXT}).encode(), "", "text/plain;charset=UTF-8"
    ),
    _raw("byte order mark", b"\xef\xbb\xbf" + json.dumps({"text": TEXT}).encode(), ""),
    _ask("embed one", EMBED, {"input": "今天天气很好"}),
    _ask(
        "embed several",
        EMBED,
        {"input": ["你好", "您好"], "encoding_format": "base64", "dimensions": 8},
    ),
    _ask("similarity", SIMILAR, {"texts": ["你好", "您好"]}),
    _ask("hf fill", HF_FILL, {"inputs": TEXT, "parameters": {"top_k": 2}}),
    _ask("hf fill two masks", HF_FILL, {"inputs": "今天是[MASK][MASK]天"}),
    _ask("hf features", HF_FEATURES, {"inputs": ["你好", "您好"]}),
    _ask(
        "hf similarity",
        HF_SIMILAR,
        {"inputs": {"source_sentence": "你好", "sentences": ["您好", "再见"]}},
    ),
]
NOT_JSON = [
    _raw("empty", b"", "invalid_json"),
    _raw("null body", None, "invalid_json"),
    _raw("null body of no type", None, "invalid_json", ""),
    _raw("half an object", f'{{"text": "{SECRET}'.encode(), "invalid_json"),
    _raw("bad escape", f'{{"text": "\\{SECRET}"}}'.encode(), "invalid_json"),
    _raw("a bare word", SECRET.encode(), "invalid_json"),
    _raw("two values", b"{} {}", "invalid_json"),
    _raw("GBK", json.dumps({"text": TEXT}, ensure_ascii=False).encode("gbk"), "invalid_json"),
    _raw(
        "GBK by its charset",
        json.dumps({"text": TEXT}, ensure_ascii=False).encode("gbk"),
        "invalid_json",
        "application/json; charset=gbk",
    ),
    _raw("UTF-16", json.dumps({"text": TEXT}).encode("utf-16"), "invalid_json"),
    _raw("PNG said to be JSON", PNG, "invalid_json"),
    _raw("PNG", PNG, "unsupported_media_type", "image/png"),
    _raw(
        "form",
        f"text={SECRET}".encode(),
        "unsupported_media_type",
        "application/x-www-form-urlencoded",
    ),
    _raw("plain text", TEXT.encode(), "unsupported_media_type", "text/plain"),
    _raw("XML", f"<{SECRET}/>".encode(), "unsupported_media_type", "application/xml"),
    _raw("bad JSON of a +json type", b"{", "invalid_json", "application/vnd.api+json"),
    _raw("100,000 brackets", b"[" * 100_000, "invalid_json"),
    _raw("100,000 objects", b'{"a":' * 100_000, "invalid_json"),
    _raw(
        "100,000 brackets within a field",
        b'{"text":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "invalid_json",
    ),
    _raw("a key twice", f'{{"text": "{TEXT}", "text": "{SECRET}[MASK]"}}'.encode(), "invalid_json"),
    _raw(
        "a key twice within",
        f'{{"text": "{TEXT}", "{SECRET}": {{"{SECRET}": 1, "{SECRET}": 2}}}}'.encode(),
        "invalid_json",
    ),
    _raw("half a surrogate pair, raw", '{"text": "\ud800[MASK]"}', "invalid_json"),
]
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
        _invalid(f"a body that is {name}", FILL, body, "")
        for name, body in (
            ("a list", []),
            ("a text", SECRET),
            ("a number", 5),
            ("null", None),
            ("true", True),
        )
    ),
    _invalid("neither text nor texts", FILL, {}, ""),
    _invalid("both text and texts", FILL, {"text": TEXT, "texts": [TEXT]}, ""),
    _invalid("unknown field", FILL, {"text": TEXT, SECRET: SECRET}, ""),
    _invalid("text of a wrong type", FILL, {"text": [TEXT]}, "text"),
    _invalid("texts of a wrong type", FILL, {"texts": TEXT}, "texts"),
    _invalid("no texts", FILL, {"texts": []}, "texts"),
    _invalid("a text among texts", FILL, {"texts": [TEXT, 5, None]}, "texts[1]", "texts[2]"),
    _invalid("mode", FILL, {"text": TEXT, "mode": SECRET}, "mode"),
    _invalid(
        "booleans",
        FILL,
        {"text": TEXT, "lowercase": 1, "include_subwords": "yes"},
        "lowercase",
        "include_subwords",
    ),
    _invalid("no targets", FILL, {"text": TEXT, "targets": []}, "targets"),
    _invalid("101 targets", FILL, {"text": TEXT, "targets": ["上"] * 101}, "targets"),
    _invalid("targets of wrong types", FILL, {"text": TEXT, "targets": ["上", 5]}, "targets[1]"),
    _invalid("half a surrogate pair", FILL, {"text": f"{SECRET}\ud800[MASK]"}, "text"),
    _invalid("a pair apart", FILL, {"text": "\ud83d[MASK]\ude00"}, "text"),
    _invalid(
        "half a surrogate pair among texts", FILL, {"texts": [TEXT, "\udc00[MASK]"]}, "texts[1]"
    ),
    _invalid(
        "half a surrogate pair in a target",
        FILL,
        {"text": TEXT, "targets": ["上", "\ud800"]},
        "targets[1]",
    ),
    _invalid("no input", EMBED, {"model": SECRET}, "input"),
    _invalid("input of a wrong type", EMBED, {"input": 5}, "input"),
    _invalid("input of token ids", EMBED, {"input": [1, 2]}, "input[0]", "input[1]"),
    _invalid("no inputs", EMBED, {"input": []}, "input"),
    _invalid(
        "nothing to embed", EMBED, {"input": ["你好", "你好", "", " "]}, "input[2]", "input[3]"
    ),
    _invalid("nothing to embed alone", EMBED, {"input": "\u200b"}, "input"),
    _invalid("half a surrogate pair to embed", EMBED, {"input": ["你好", "\ud800"]}, "input[1]"),
    _invalid("format", EMBED, {"input": "你好", "encoding_format": SECRET}, "encoding_format"),
    *(
        _invalid(f"dimensions {value}", EMBED, {"input": "你好", "dimensions": value}, "dimensions")
        for value in (0, -1, 257, 5000, 8.0, "8", True, None)
    ),
    _invalid(
        "nothing to compare", SIMILAR, {"texts": ["你好"], "against": ["您好", ""]}, "against[1]"
    ),
    _invalid("against nothing", SIMILAR, {"texts": ["你好"], "against": []}, "against"),
    _invalid("hf without inputs", HF_FILL, {"text": TEXT}, "inputs"),
    _invalid(
        "hf parameters", HF_FILL, {"inputs": TEXT, "parameters": {"top_k": "5"}}, "parameters.top_k"
    ),
    _invalid(
        "hf targets with nothing to score",
        HF_FILL,
        {"inputs": TEXT, "parameters": {"targets": [" ", "[MASK]"]}},
        "parameters.targets",
    ),
    _invalid("hf nothing to embed", HF_FEATURES, {"inputs": ["你好", ""]}, "inputs[1]"),
    _invalid("hf dimensions", HF_FEATURES, {"inputs": "你好", "dimensions": 257}, "dimensions"),
    _invalid("hf not normalised", HF_FEATURES, {"inputs": "你好", "normalize": False}, "normalize"),
    _invalid(
        "hf sentence missing",
        HF_SIMILAR,
        {"inputs": {"sentences": ["你好"]}},
        "inputs.source_sentence",
    ),
    _invalid(
        "hf nothing to compare",
        HF_SIMILAR,
        {"inputs": {"source_sentence": "", "sentences": ["你好", " "]}},
        "inputs.source_sentence",
        "inputs.sentences[1]",
    ),
]
NO_MASK = [
    *(
        _ask(f"no mask in {text!r}", FILL, {"text": text}, "no_mask", index=0, seen=seen)
        for text, seen in (
            ("今天天气很好", None),
            ("", None),
            ("   ", None),
            ("今天<mask>好", "<mask>"),
            ("中［MASK］国", "［MASK］"),
            ("中【MASK】国", "【MASK】"),
            ("中[mask]国", "[mask]"),
            ("中___国", "___"),
        )
    ),
    _ask(
        "no mask in the third text",
        FILL,
        {"texts": [TEXT, TEXT, "今天天气很好", ""]},
        "no_mask",
        index=2,
        seen=None,
    ),
    _ask("hf without a mask", HF_FILL, {"inputs": "今天天气很好"}, "no_mask", index=0, seen=None),
]
TOO_LARGE = [
    _too_large("65 texts", FILL, {"texts": [TEXT] * 65}, "texts", 65),
    _too_large(
        "a long text",
        FILL,
        {"texts": [TEXT, "我" * 10_001 + "[MASK]"]},
        "characters",
        10_007,
        field="texts[1]",
    ),
    _too_large(
        "much text", FILL, {"texts": ["我" * 9_990 + "[MASK]"] * 21}, "total_characters", 21 * 9_996
    ),
    _too_large("many masks", FILL, {"text": "[MASK]" * 65}, "masks", 65, index=0),
    _too_large(
        "masks in all",
        FILL,
        {"texts": ["一二三四五六七八九"[n] + "[MASK]" * 64 for n in range(9)], "top_k": 1},
        "total_masks",
        9 * 64,
    ),
    _too_large(
        "masks in joint mode",
        FILL,
        {"text": "[MASK]" * 13, "mode": "joint"},
        "joint_masks",
        13,
        index=0,
    ),
    _too_large(
        "passes",
        FILL,
        {"text": "[MASK]" * 64, "targets": ["苹果", "香蕉", "葡萄"] * 6},
        "passes",
        64 * 36,
    ),
    _too_large(
        "a long answer",
        FILL,
        {"text": "[MASK]" * 60 + "我" * 9_000, "top_k": 100},
        "answer_characters",
        9_360 * 6_001,
    ),
    _too_large("257 inputs", EMBED, {"input": ["你好"] * 257}, "inputs", 257),
    _too_large(
        "a long input", EMBED, {"input": "我" * 10_001}, "characters", 10_001, field="input"
    ),
    _too_large("65 texts to compare", SIMILAR, {"texts": ["你好"] * 65}, "texts", 65),
    _too_large("65 hf inputs", HF_FILL, {"inputs": [TEXT] * 65}, "texts", 65),
    Case(
        "a large body",
        FILL,
        b" " * 2_097_153,
        "too_large",
        members={"limit": "body_bytes", "maximum": 2_097_152, "size": 2_097_153},
    ),
]
REFUSED = [*NOT_JSON, *INVALID, *NO_MASK, *TOO_LARGE]
ALL = [*ANSWERED, *REFUSED]
