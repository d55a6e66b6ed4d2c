"""Requests over HTTP and what comes of each: right ones, and every way to be wrong.

One table for all the tests.
"""

import json

from support.http_case import (
    EMBED,
    FILL,
    HF_FEATURES,
    HF_FILL,
    HF_SIMILAR,
    JSON,
    PNG,
    SIMILAR,
    TEXT,
    Case,
    ask,
    fill,
    raw,
    too_large,
)
from support.http_cases_invalid import INVALID
from support.problems import SECRET

__all__ = [
    "ALL",
    "ANSWERED",
    "EMBED",
    "FILL",
    "HF_FEATURES",
    "HF_FILL",
    "HF_SIMILAR",
    "INVALID",
    "JSON",
    "NOT_JSON",
    "NO_MASK",
    "PNG",
    "REFUSED",
    "SIMILAR",
    "TEXT",
    "TOO_LARGE",
    "Case",
]

ANSWERED = [
    fill("one text"),
    fill("top_k 1", top_k=1),
    fill("top_k 100", top_k=100),
    fill("targets", targets=["上", "苹果", "苹", "𠮷", "Apple", "", " ", "[MASK]", "##果", "上"]),
    ask("several texts and masks", FILL, {"texts": [TEXT, "今天是[MASK][MASK]天"], "top_k": 2}),
    ask("joint", FILL, {"text": "今天[MASK][MASK]很好", "mode": "joint", "top_k": 3}),
    fill("all options", lowercase=False, include_subwords=True),
    raw("text body", json.dumps({"text": TEXT}, ensure_ascii=False), ""),
    raw("no content type", json.dumps({"text": TEXT}).encode(), "", ""),
    raw(
        "JSON by another name", json.dumps({"text": TEXT}).encode(), "", "text/plain;charset=UTF-8"
    ),
    raw("byte order mark", b"\xef\xbb\xbf" + json.dumps({"text": TEXT}).encode(), ""),
    ask("embed one", EMBED, {"input": "今天天气很好"}),
    ask(
        "embed several",
        EMBED,
        {"input": ["你好", "您好"], "encoding_format": "base64", "dimensions": 8},
    ),
    ask("similarity", SIMILAR, {"texts": ["你好", "您好"]}),
    ask("hf fill", HF_FILL, {"inputs": TEXT, "parameters": {"top_k": 2}}),
    ask("hf fill two masks", HF_FILL, {"inputs": "今天是[MASK][MASK]天"}),
    ask("hf features", HF_FEATURES, {"inputs": ["你好", "您好"]}),
    ask(
        "hf similarity",
        HF_SIMILAR,
        {"inputs": {"source_sentence": "你好", "sentences": ["您好", "再见"]}},
    ),
]
NOT_JSON = [
    raw("empty", b"", "invalid_json"),
    raw("null body", None, "invalid_json"),
    raw("null body of no type", None, "invalid_json", ""),
    raw("half an object", f'{{"text": "{SECRET}'.encode(), "invalid_json"),
    raw("bad escape", f'{{"text": "\\{SECRET}"}}'.encode(), "invalid_json"),
    raw("a bare word", SECRET.encode(), "invalid_json"),
    raw("two values", b"{} {}", "invalid_json"),
    raw("GBK", json.dumps({"text": TEXT}, ensure_ascii=False).encode("gbk"), "invalid_json"),
    raw(
        "GBK by its charset",
        json.dumps({"text": TEXT}, ensure_ascii=False).encode("gbk"),
        "invalid_json",
        "application/json; charset=gbk",
    ),
    raw("UTF-16", json.dumps({"text": TEXT}).encode("utf-16"), "invalid_json"),
    raw("PNG said to be JSON", PNG, "invalid_json"),
    raw("PNG", PNG, "unsupported_media_type", "image/png"),
    raw(
        "form",
        f"text={SECRET}".encode(),
        "unsupported_media_type",
        "application/x-www-form-urlencoded",
    ),
    raw("plain text", TEXT.encode(), "unsupported_media_type", "text/plain"),
    raw("XML", f"<{SECRET}/>".encode(), "unsupported_media_type", "application/xml"),
    raw("bad JSON of a +json type", b"{", "invalid_json", "application/vnd.api+json"),
    raw("100,000 brackets", b"[" * 100_000, "invalid_json"),
    raw("100,000 objects", b'{"a":' * 100_000, "invalid_json"),
    raw(
        "100,000 brackets within a field",
        b'{"text":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "invalid_json",
    ),
    raw("a key twice", f'{{"text": "{TEXT}", "text": "{SECRET}[MASK]"}}'.encode(), "invalid_json"),
    raw(
        "a key twice within",
        f'{{"text": "{TEXT}", "{SECRET}": {{"{SECRET}": 1, "{SECRET}": 2}}}}'.encode(),
        "invalid_json",
    ),
    raw("half a surrogate pair, raw", '{"text": "\ud800[MASK]"}', "invalid_json"),
]
NO_MASK = [
    *(
        ask(f"no mask in {text!r}", FILL, {"text": text}, "no_mask", index=0, seen=seen)
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
    ask(
        "no mask in the third text",
        FILL,
        {"texts": [TEXT, TEXT, "今天天气很好", ""]},
        "no_mask",
        index=2,
        seen=None,
    ),
    ask("hf without a mask", HF_FILL, {"inputs": "今天天气很好"}, "no_mask", index=0, seen=None),
]
TOO_LARGE = [
    too_large("65 texts", FILL, {"texts": [TEXT] * 65}, "texts", 65),
    too_large(
        "a long text",
        FILL,
        {"texts": [TEXT, "我" * 10_001 + "[MASK]"]},
        "characters",
        10_007,
        field="texts[1]",
    ),
    too_large(
        "much text", FILL, {"texts": ["我" * 9_990 + "[MASK]"] * 21}, "total_characters", 21 * 9_996
    ),
    too_large("many masks", FILL, {"text": "[MASK]" * 65}, "masks", 65, index=0),
    too_large(
        "masks in all",
        FILL,
        {"texts": ["一二三四五六七八九"[n] + "[MASK]" * 64 for n in range(9)], "top_k": 1},
        "total_masks",
        9 * 64,
    ),
    too_large(
        "masks in joint mode",
        FILL,
        {"text": "[MASK]" * 13, "mode": "joint"},
        "joint_masks",
        13,
        index=0,
    ),
    too_large(
        "passes",
        FILL,
        {"text": "[MASK]" * 64, "targets": ["苹果", "香蕉", "葡萄"] * 6},
        "passes",
        64 * 36,
    ),
    too_large(
        "a long answer",
        FILL,
        {"text": "[MASK]" * 60 + "我" * 9_000, "top_k": 100},
        "answer_characters",
        9_360 * 6_001,
    ),
    too_large(
        "a long target",
        FILL,
        {"text": TEXT, "targets": ["上", "上" * 101]},
        "target_characters",
        101,
        field="targets[1]",
    ),
    too_large("257 inputs", EMBED, {"input": ["你好"] * 257}, "inputs", 257),
    too_large("a long input", EMBED, {"input": "我" * 10_001}, "characters", 10_001, field="input"),
    too_large("65 texts to compare", SIMILAR, {"texts": ["你好"] * 65}, "texts", 65),
    too_large("65 hf inputs", HF_FILL, {"inputs": [TEXT] * 65}, "texts", 65),
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
