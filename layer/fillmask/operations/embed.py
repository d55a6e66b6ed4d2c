"""Text embeddings: pooled hidden states, normalised to length 1.

Mean over a text's real tokens, or its first token, as the manifest says. A text longer than the model's
limit is run in windows, and its vector is their average by token count. The decoder does not run.
"""

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fillmask.errors import InvalidRequest, counted
from fillmask.model.contract import Engine, Query
from fillmask.model.text import TextCodec
from fillmask.model.windows import chunks

HEADER = struct.Struct("<II")  # tokens, windows


class Embedding(NamedTuple):
    """One text: its vector [hidden] float32, the tokens it had with [CLS] and [SEP], the windows it took."""

    vector: npt.NDArray[np.float32]
    tokens: int
    windows: int

    def pack(self) -> bytes:
        """For a cache; float32 values survive bit for bit."""
        return HEADER.pack(self.tokens, self.windows) + self.vector.astype("<f4").tobytes()

    @classmethod
    def unpack(cls, value: bytes, width: int) -> "Embedding":
        """What `pack` made of a vector of `width`; raise ValueError or struct.error for anything else."""
        tokens, windows = HEADER.unpack_from(value)
        return cls(
            np.frombuffer(value, dtype="<f4", offset=HEADER.size).reshape(width), tokens, windows
        )

    def leading(self, dimensions: int) -> npt.NDArray[np.float32]:
        """The first dimensions, normalised again."""
        return _unit(self.vector[:dimensions].astype(np.float64))


class Embedder:
    """The embed operation on one engine and its codec."""

    def __init__(self, engine: Engine, codec: TextCodec) -> None:
        self._engine, self._codec, self._manifest = engine, codec, engine.manifest

    def answer(self, texts: Sequence[str], fields: Sequence[str]) -> list[Embedding]:
        """One embedding a text, the same in every batch; raise InvalidRequest for texts without a token, by the
        `fields` of the request in which the texts stand."""
        windows = [self._queries(text) for text in texts]
        errors = [
            {"field": field, "reason": "has no character the model can see"}
            for field, own in zip(fields, windows, strict=True)
            if not own
        ]
        if errors:
            raise InvalidRequest(
                f"There is nothing to embed in {counted(len(errors), 'text')}.", errors=errors
            )
        queries = [query for own in windows for query in own]
        owners = [index for index, own in enumerate(windows) for _ in own]
        sums: list[Any] = [0.0] * len(texts)
        tokens, counts = [0] * len(texts), [0] * len(texts)
        for owner, query, states in zip(owners, queries, self._engine.hidden(queries), strict=True):
            size = len(query.ids)
            sums[owner] = sums[owner] + states.mean(axis=0, dtype=np.float64) * (size - 2)
            tokens[owner] += size
            counts[owner] += 1
        return [
            Embedding(_unit(row), *of)
            for row, of in zip(sums, zip(tokens, counts, strict=True), strict=True)
        ]

    def _queries(self, text: str) -> list[Query]:
        ids = self._codec.encode(text, self._manifest.lowercase).ids
        if not ids:
            return []
        special, pooling = self._manifest.special, self._manifest.pooling
        queries = []
        for start, end in chunks(len(ids), self._manifest.capacity, self._codec.sentence_ends(ids)):
            inside = special.enclose(ids[start:end])
            pooled = range(len(inside)) if pooling.special_tokens else range(1, len(inside) - 1)
            queries.append(Query(inside, [0] if pooling.mode == "cls" else pooled))
        return queries


def similarity(rows: Sequence[Embedding], columns: Sequence[Embedding]) -> list[list[float]]:
    """Cosines [rows, columns]; each is the same whatever stands beside it, and within [-1, 1]."""
    return [
        [
            float(np.clip(np.sum(row.vector.astype(np.float64) * column.vector), -1, 1))
            for column in columns
        ]
        for row in rows
    ]


def _unit(vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    return (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(np.float32)
