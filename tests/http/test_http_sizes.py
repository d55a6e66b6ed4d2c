"""The bytes of an answer are bounded by the way it leaves, and counted as Lambda encodes them."""

import json
from typing import Any

import pytest

from fillmask import adapters, limits
from fillmask.direct import DirectAdapter
from support import http_service
from support.http_cases import EMBED, FILL
from support.http_events_made import KINDS, Answer, answer, dressed
from support.problems import check_problem, check_problem_reply

# Control characters take six bytes each, and the escape is escaped once more in a gateway's answer.
CONTROL = {"text": "\u0001" * 9_994 + "[MASK]", "top_k": 98}
UNSEEN = {"texts": [f"{number}" + "\u200b一" * 4_946 + "[MASK]" for number in range(20)]}
OVER_A_MEGABYTE = {"text": "天" * 4_000 + "[MASK]", "top_k": 100}
LONG_TARGETS = {"text": "[MASK]" * 60, "targets": ["a" * 100] * 100}


def send(kind: str, request: dict[str, Any], path: str = FILL, **how: Any) -> tuple[Answer, int]:
    """The answer through a gateway, and the bytes that Lambda's runtime makes of it."""
    event = dressed(kind, path, json.dumps(request), headers={"origin": "https://example.org"})
    written = http_service.http(**how).answer(event, None)
    return answer(written), len(json.dumps(written, ensure_ascii=adapters.ESCAPES).encode())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("request_", [CONTROL, UNSEEN, OVER_A_MEGABYTE, LONG_TARGETS])
@pytest.mark.parametrize("cors_origins", ["", "*"])
def test_an_answer_fits_the_gateway_or_is_its_problem(
    kind: str, request_: dict[str, Any], cors_origins: str
) -> None:
    limit = "alb_answer_bytes" if kind.startswith("alb") else "answer_bytes"
    reply, size = send(kind, request_, cors_origins=cors_origins)
    assert size <= limits.TABLE[limit]
    assert bool(cors_origins) == ("access-control-allow-origin" in reply.headers)

    if reply.status != 200:
        found = check_problem_reply(*reply)
        assert found["code"] == "too_large"
        assert found["limit"] in (limit, "answer_characters")
        assert found["size"] > found["maximum"]
        assert "ask for fewer" in found["detail"]
    else:
        assert kind not in ("alb", "alb_multi")


def test_what_a_load_balancer_does_not_take_other_gateways_do() -> None:
    assert send("http_api_v2", OVER_A_MEGABYTE)[0].status == 200
    refused = check_problem_reply(*send("alb", OVER_A_MEGABYTE)[0])
    assert (refused["limit"], refused["maximum"]) == ("alb_answer_bytes", 1_000_000)


def test_vectors_are_counted_too() -> None:
    texts = {"input": [f"第{number}句" for number in range(256)]}
    assert send("http_api_v2", texts, EMBED)[0].status == 200
    reply, _ = send("alb", texts, EMBED)
    assert check_problem_reply(*reply)["limit"] == "alb_answer_bytes"
    assert send("alb", texts | {"encoding_format": "base64"}, EMBED)[0].status == 200


def test_a_direct_answer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    direct = DirectAdapter(http_service.service)
    size = len(json.dumps(direct.answer(CONTROL, None), ensure_ascii=adapters.ESCAPES).encode())
    assert size > 5_000_000

    monkeypatch.setitem(limits.TABLE, "answer_bytes", size)
    assert "results" in direct.answer(CONTROL, None)
    monkeypatch.setitem(limits.TABLE, "answer_bytes", size - 1)
    found = check_problem(direct.answer(CONTROL, None))
    assert (found["code"], found["limit"], found["size"]) == ("too_large", "answer_bytes", size)
