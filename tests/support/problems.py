"""The one check of an error: RFC 9457, our codes, and nothing of the caller's text."""

import json
import re
from typing import Any

from fillmask.problem import TABLE, TYPE_PREFIX

MEDIA_TYPE = "application/problem+json"
MEMBERS = {"type": str, "title": str, "status": int, "detail": str, "code": str}
SECRET = "xyzzy"  # a word of ASCII that a test sends to see it not come back
TELLING = re.compile(
    rf"[^\x00-\x7f]{{2,}}|{SECRET}\w*"
)  # what of a request must not stand in an error


def check_problem(found: Any, *sent: object) -> dict[str, Any]:
    """Checks a problem object against RFC 9457 and the table, and returns it.

    `sent` is what the caller sent, in any form; none of its words may stand in the problem.
    """
    assert isinstance(found, dict)
    for name, kind in MEMBERS.items():
        assert type(found[name]) is kind, name
    assert (found["status"], found["title"]) == TABLE[found["code"]]
    assert found["type"] == TYPE_PREFIX + found["code"]
    assert found["detail"].endswith("."), found["detail"]
    said = json.dumps(found, ensure_ascii=False)
    assert "Traceback" not in said
    assert ".py" not in said
    for text in map(_text, sent):
        for word in TELLING.findall(text):
            assert word not in said, word
    return found


def check_problem_reply(
    status: int, headers: dict[str, str], body: bytes, *sent: object
) -> dict[str, Any]:
    """Checks the same over HTTP, where media type and status line agree with the object."""
    assert headers["content-type"] == MEDIA_TYPE
    found = check_problem(json.loads(body.decode("utf-8")), *sent)
    assert found["status"] == status
    return found


def _text(sent: object) -> str:
    if isinstance(sent, bytes):
        return sent.decode("utf-8", "replace").replace("\ufffd", "")
    return sent if isinstance(sent, str) else json.dumps(sent, ensure_ascii=False)
