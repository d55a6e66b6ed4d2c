"""JSON text: what is read strictly, and the one spelling that is written."""

import pytest

from fillmask.errors import InvalidJson
from fillmask.requests import json_text


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"text": "\xe5\xa5\xbd"}', {"text": "好"}),
        (b"\xef\xbb\xbf[1]", [1]),  # with a byte order mark
        ("[true, null, -1]", [True, None, -1]),
        (b"9" * 19, int("9" * 19)),
        (b"9" * 20, float("inf")),
        (b"-" + b"9" * 4400, float("inf")),  # more digits than int() takes
        (b'"\\ud800"', "\ud800"),
    ],
)
def test_what_is_read(body: bytes | str, value: object) -> None:
    assert json_text.read(body) == value


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "The body is not JSON: Expecting value at character 0."),
        (b"{", "The body is not JSON: "),
        (b"\xff", "The body is not UTF-8."),
        (b'{"a": 1, "b": {"c": 1, "c": 1}}', "The body has an object with the same key twice."),
        (b"[" * 100_000, "The body is nested too deep."),
    ],
)
def test_what_is_refused(body: bytes, detail: str) -> None:
    with pytest.raises(InvalidJson) as refusal:
        json_text.read(body)

    assert refusal.value.detail.startswith(detail)


def test_what_is_written_is_compact_and_reads_back() -> None:
    value = {"text": "好\n", "scores": [0.1, 1e-9], "none": None}
    text = json_text.write(value)

    assert text == '{"text":"好\\n","scores":[0.1,1e-09],"none":null}'
    assert json_text.read(text) == value


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_never_written(number: float) -> None:
    with pytest.raises(ValueError, match="Out of range"):
        json_text.write([number])
