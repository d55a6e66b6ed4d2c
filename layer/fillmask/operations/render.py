"""Answers as the JSON objects of the contract.

A `sequence` is the caller's own string with one mask, or in a filling every mask, replaced and
nothing else changed: an answer from a cache, which holds no text, reads like one just computed.
"""

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fillmask.model.manifest import Manifest
from fillmask.model.text import Stretch, TextCodec, shown
from fillmask.operations.answers import (
    Candidate,
    Extent,
    FilledMask,
    FilledText,
    Filling,
    ScoredTarget,
)
from fillmask.requests.json_text import JsonObject
from fillmask.requests.native import Options

if TYPE_CHECKING:
    from fillmask.operations.embed import Embedding, Vector


def model(manifest: Manifest) -> JsonObject:
    """Which model answered."""
    return {"id": manifest.id, "digest": manifest.digest}


def least_size(text: str, masks: int, options: Options) -> int:
    """Characters of the sequences and targets in the answer for a text, whole fillings left out.

    Known before anything is computed.
    """
    candidates = len(options.targets) or options.top_k
    # A target stands in its own member and in its sequence.
    targets = 2 * sum(map(len, options.targets))
    return len(text) * (masks * candidates + 1) + masks * targets


def size(answer: FilledText, text: str, options: Options) -> int:
    """Characters of all sequences, targets and unknown stretches in the answer for a text."""
    fillings = len(answer.fillings or ())
    unknown = sum(stretch.end - stretch.start for stretch in answer.unknown)
    return least_size(text, len(answer.masks), options) + len(text) * fillings + unknown


def filled_text(
    answer: FilledText, text: str, options: Options, codec: TextCodec, *, cached: bool
) -> JsonObject:
    """One element of `results`."""
    windows = [mask.window for mask in answer.masks if mask.window]
    fillings = answer.fillings

    return {
        "text": text,
        "tokens": answer.tokens,
        "masks": [_mask(mask, text, options, codec) for mask in answer.masks],
        "fillings": None
        if fillings is None
        else [_filling(filling, answer.masks, text, codec) for filling in fillings],
        "unknown": [_unknown(stretch, text) for stretch in answer.unknown],
        "window": _extent(Extent(windows[0].start, windows[-1].end) if windows else None),
        "cached": cached,
    }


def _mask(mask: FilledMask, text: str, options: Options, codec: TextCodec) -> JsonObject:
    before, after = text[: mask.span.start], text[mask.span.end :]

    candidates = [_candidate(candidate, before, after, codec) for candidate in mask.candidates]
    if options.targets:
        candidates = [
            _target(word, target, before, after, codec)
            for word, target in zip(options.targets, mask.targets, strict=True)
        ]

    return {
        "start": mask.span.start,
        "end": mask.span.end,
        "window": _extent(mask.window),
        "candidates": candidates,
    }


def _candidate(candidate: Candidate, before: str, after: str, codec: TextCodec) -> JsonObject:
    token = codec.token(candidate.token)
    return {
        "token": token,
        "id": candidate.token,
        "score": candidate.score,
        "sequence": before + shown(token) + after,
    }


def _target(
    word: str, target: ScoredTarget, before: str, after: str, codec: TextCodec
) -> JsonObject:
    is_token = len(target.pieces) == 1
    return {
        "token": word,
        "id": target.pieces[0] if is_token else None,
        "score": target.score,
        "sequence": before + shown(word) + after,
        "in_vocabulary": is_token,
        "pieces": [codec.token(piece) for piece in target.pieces],
        "reason": target.reason,
    }


def _filling(
    filling: Filling, masks: Sequence[FilledMask], text: str, codec: TextCodec
) -> JsonObject:
    tokens = [codec.token(token) for token in filling.tokens]

    sequence, end = "", 0
    for mask, token in zip(masks, tokens, strict=True):
        sequence += text[end : mask.span.start] + shown(token)
        end = mask.span.end

    return {"tokens": tokens, "score": filling.score, "sequence": sequence + text[end:]}


def _unknown(stretch: Stretch, text: str) -> JsonObject:
    return {
        "start": stretch.start,
        "end": stretch.end,
        "text": text[stretch.start : stretch.end],
        "reason": stretch.reason,
    }


def _extent(extent: Extent | None) -> JsonObject | None:
    return extent and {"start": extent.start, "end": extent.end}


def openai_embeddings(
    embeddings: "Sequence[Embedding]", dimensions: int, model_id: str, *, as_base64: bool
) -> JsonObject:
    """The answer to an embeddings request, in OpenAI's shape."""
    tokens = sum(embedding.tokens for embedding in embeddings)
    return {
        "object": "list",
        "model": model_id,
        "data": [
            {
                "object": "embedding",
                "index": index,
                "embedding": _vector(embedding.leading(dimensions), as_base64),
            }
            for index, embedding in enumerate(embeddings)
        ],
        "usage": {
            "prompt_tokens": tokens,
            "total_tokens": tokens,
            "windows": sum(embedding.windows for embedding in embeddings),
            "unknown_tokens": sum(embedding.unknown_tokens for embedding in embeddings),
        },
    }


def _vector(vector: "Vector", as_base64: bool) -> str | list[float]:
    """Numbers, or base64 of little-endian float32."""
    if as_base64:
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    numbers: list[float] = vector.tolist()
    return numbers
