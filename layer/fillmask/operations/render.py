"""Put the caller's text back around an answer: offsets and scores become sequences.

`sequence` is the caller's own string with one mask (or, in a filling, every mask) replaced and nothing else
changed; so an answer that came from a cache without any text in it reads like one just computed.
"""

from collections.abc import Sequence
from typing import Any

from fillmask.model.text import TextCodec, shown
from fillmask.operations.fill import Options

Json = dict[str, Any]


def result(value: Json, text: str, options: Options, codec: TextCodec, *, cached: bool) -> Json:
    """One element of `results`; `value` is what fill.Filler.answer made for this text."""
    masks = [_mask(mask, text, options, codec) for mask in value["masks"]]
    spans = [(mask["start"], mask["end"]) for mask in value["masks"]]
    windows = [mask["window"] for mask in masks if mask["window"]]
    return {
        "text": text,
        "tokens": value["tokens"],
        "masks": masks,
        "fillings": None
        if value["fillings"] is None
        else [_filling(filling, text, spans, codec) for filling in value["fillings"]],
        "unknown": [
            {"start": start, "end": end, "text": text[start:end], "reason": reason}
            for start, end, reason in value["unknown"]
        ],
        "window": {"start": windows[0]["start"], "end": windows[-1]["end"]} if windows else None,
        "cached": cached,
    }


def size(value: Json, text: str, options: Options) -> int:
    """Characters of the sequences a result would hold: bounded by the service before any is built."""
    return least_size(text, len(value["masks"]), options) + len(text) * len(value["fillings"] or ())


def least_size(text: str, masks: int, options: Options) -> int:
    """The same but for whole fillings, whose number is known when they are: bounded before anything is computed."""
    return len(text) * (masks * (len(options.targets) or options.top_k) + 1)


def _mask(value: Json, text: str, options: Options, codec: TextCodec) -> Json:
    start, end, window = value["start"], value["end"], value["window"]
    before, after = text[:start], text[end:]
    if options.targets:
        rows = zip(options.targets, value["candidates"], strict=True)
        candidates = [_target(target, row, before, after, codec) for target, row in rows]
    else:
        candidates = []
        for token_id, score in value["candidates"]:
            token = codec.token(token_id)
            candidates.append(
                {
                    "token": token,
                    "id": token_id,
                    "score": score,
                    "sequence": before + shown(token) + after,
                }
            )
    return {
        "start": start,
        "end": end,
        "window": {"start": window[0], "end": window[1]} if window else None,
        "candidates": candidates,
    }


def _target(target: str, row: Json, before: str, after: str, codec: TextCodec) -> Json:
    one = len(row["pieces"]) == 1
    return {
        "token": target,
        "id": row["pieces"][0] if one else None,
        "score": row["score"],
        "sequence": before + shown(target) + after,
        "in_vocabulary": one,
        "pieces": [codec.token(piece) for piece in row["pieces"]],
        "reason": row.get("reason"),
    }


def _filling(
    filling: Sequence[Any], text: str, spans: Sequence[tuple[int, int]], codec: TextCodec
) -> Json:
    tokens, score = [codec.token(token_id) for token_id in filling[0]], filling[1]
    parts, at = [], 0
    for (start, end), token in zip(spans, tokens, strict=True):
        parts += [text[at:start], shown(token)]
        at = end
    return {"tokens": tokens, "score": score, "sequence": "".join(parts) + text[at:]}
