"""What must hold for the result of every text, whatever was asked."""

from typing import Any

from fillmask.model.text import shown

MASK = "[MASK]"


def check(result: dict[str, Any], text: str) -> None:
    """Checks one result against its text.

    Offsets point at masks in order, a sequence differs from the text in one mask alone, and unknown
    stretches quote the text.
    """
    assert result["text"] == text
    assert len(result["masks"]) == text.count(MASK)
    at = 0
    for mask in result["masks"]:
        assert text[mask["start"] : mask["end"]] == MASK
        assert mask["start"] == text.index(MASK, at)
        at = mask["end"]
        for candidate in mask["candidates"]:
            filled = shown(candidate["token"])
            assert candidate["sequence"] == text[: mask["start"]] + filled + text[mask["end"] :]
    for filling in result["fillings"] or ():
        pieces = iter(filling["tokens"])
        assert filling["sequence"] == "".join(
            part + shown(next(pieces, "")) for part in text.split(MASK)
        )
    end = 0
    for stretch in result["unknown"]:
        assert stretch["start"] >= end
        end = stretch["end"]
        assert stretch["text"] == text[stretch["start"] : end] != ""
        assert stretch["reason"] in ("unknown", "dropped")
