"""Text embeddings: pooled hidden states, normalised to length 1.

The mean over a text's tokens, or its first position, as the manifest says. A text longer than the
model's limit is run in windows, and its vector is their mean, weighted by their tokens. The head of
the model does not run.
"""

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fillmask.errors import InvalidRequest, counted
from fillmask.model.contract import Engine, Query
from fillmask.model.manifest import FRAME_TOKENS
from fillmask.model.text import TextCodec
from fillmask.model.windows import chunks

HEADER: Final = struct.Struct("<III")  # tokens, windows, unknown tokens
NAMED: Final = 3  # texts that an error names
ROUNDING: Final = 1e-3  # of the length of a float32 vector, at the very most
LEAST_LENGTH: Final = 1e-12  # of a vector that is divided by its length

Vector = npt.NDArray[np.float32]  # [hidden]


class Embedding(NamedTuple):
    """The vector of one text, float32 [hidden], and what it took to compute it."""

    vector: Vector
    tokens: int  # [CLS] and [SEP] of each window included
    windows: int
    unknown_tokens: int  # of the text that the vocabulary has no token for

    def pack(self) -> bytes:
        """The embedding for a cache; float32 values survive bit for bit."""
        return (
            HEADER.pack(self.tokens, self.windows, self.unknown_tokens)
            + self.vector.astype("<f4").tobytes()
        )

    @classmethod
    def unpack(cls, value: bytes, dimensions: int) -> "Embedding":
        """What `pack` made of a vector of so many dimensions.

        Raises ValueError or struct.error for anything else.
        """
        tokens, windows, unknown_tokens = HEADER.unpack_from(value)
        vector = np.frombuffer(value, dtype="<f4", offset=HEADER.size).reshape(dimensions)

        # Also false where a number is not finite.
        has_length_1 = abs(float(np.linalg.norm(vector.astype(np.float64))) - 1) < ROUNDING
        if not has_length_1 or not 0 < windows * FRAME_TOKENS < tokens or unknown_tokens > tokens:
            raise ValueError("not a packed embedding")
        return cls(vector, tokens, windows, unknown_tokens)

    def leading(self, dimensions: int) -> Vector:
        """The first dimensions, normalised again; all of them are left as they are."""
        if dimensions == len(self.vector):
            return self.vector
        return _unit(self.vector[:dimensions].astype(np.float64))


class Embedder:
    """Embeds texts with one engine and its codec."""

    def __init__(self, engine: Engine, codec: TextCodec) -> None:
        self._engine, self._codec, self._manifest = engine, codec, engine.manifest

    def embed(self, texts: Sequence[str], names: Sequence[str]) -> list[Embedding]:
        """One embedding per text, which does not depend on the other texts.

        Raises InvalidRequest for texts without a token, by the `names` of their fields.
        """
        queries = [self._queries(text) for text in texts]
        empty = [name for name, own in zip(names, queries, strict=True) if not own]
        if empty:
            raise InvalidRequest(
                f"There is nothing to embed in {_listed(empty)}.",
                errors=[
                    {"field": name, "reason": "has no character the model can see"}
                    for name in empty
                ],
            )

        # The windows of all texts make one batch, whose results come back in order.
        states = iter(self._engine.hidden([query for own in queries for query in own]))
        unknown = self._manifest.special.unknown
        return [_pooled(own, [next(states) for _ in own], unknown) for own in queries]

    def _queries(self, text: str) -> list[Query]:
        """The windows of a text, with the positions to pool; none for a text without a token."""
        ids = self._codec.encode(text, self._manifest.lowercase).ids
        if not ids:
            return []

        runs = chunks(len(ids), self._manifest.capacity, self._codec.sentence_ends(ids))
        framed = [self._manifest.special.enclose(ids[start:end]) for start, end in runs]
        return [Query(window, self._pooled_positions(len(window))) for window in framed]

    def _pooled_positions(self, length: int) -> Sequence[int]:
        pooling = self._manifest.pooling
        if pooling.mode == "cls":
            return [0]
        return range(length) if pooling.special_tokens else range(1, length - 1)


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    shown, more = ", ".join(names[:NAMED]), len(names) - NAMED
    return shown if more <= 0 else f"{shown} and {counted(more, 'more text')}"


def similarity(rows: Sequence[Embedding], columns: Sequence[Embedding]) -> list[list[float]]:
    """Cosines [rows, columns] within [-1, 1]; each depends on its two texts alone."""
    return [[_cosine(row.vector, column.vector) for column in columns] for row in rows]


def _cosine(one: Vector, other: Vector) -> float:
    # Not a matrix product: its rounding would depend on the size of the matrix.
    product = np.sum(one.astype(np.float64) * other)
    return float(np.clip(product, -1, 1))


def _pooled(queries: Sequence[Query], states: Sequence[Vector], unknown: int) -> Embedding:
    """One text's embedding, from its windows and their hidden states [positions, hidden]."""
    total = np.zeros(states[0].shape[1])
    for query, rows in zip(queries, states, strict=True):
        text_tokens = len(query.ids) - FRAME_TOKENS
        total += rows.mean(axis=0, dtype=np.float64) * text_tokens

    tokens = sum(len(query.ids) for query in queries)
    unknown_tokens = sum(list(query.ids).count(unknown) for query in queries)
    return Embedding(_unit(total), tokens, len(queries), unknown_tokens)


def _unit(vector: npt.NDArray[np.float64]) -> Vector:
    """The vector divided by its length."""
    length = max(float(np.linalg.norm(vector)), LEAST_LENGTH)
    return (vector / length).astype(np.float32)
