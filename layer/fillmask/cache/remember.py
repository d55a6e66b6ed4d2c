"""What is remembered under which key.

A key is a digest over everything that decides a result: no text can be read back from it, and a new
model never answers from what an old one left behind.
"""

import hashlib
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from fillmask.cache.memory import Cache

RESULT_VERSION: Final = 2  # of the cached values; raise it when their meaning changes

# What reading raises for a torn, foreign or forged value: deep nesting is a RecursionError.
UNREADABLE: Final = (ValueError, KeyError, TypeError, RecursionError, struct.error)

T = TypeVar("T")
Option = bool | int | str | tuple[str, ...]


class ResultCache:
    """The results of one model: equal texts are computed once, and cached ones not at all."""

    def __init__(self, cache: Cache, model_digest: str) -> None:
        self._cache, self._model_digest = cache, model_digest

    def results(
        self,
        question: Sequence[Option],
        texts: Sequence[str],
        compute: Callable[[Sequence[str]], Sequence[T]],
        pack: Callable[[T], bytes],
        unpack: Callable[[str, bytes], T],
    ) -> tuple[dict[str, T], frozenset[str]]:
        """The result of each distinct text, and the texts whose result came from the cache.

        `question` is all that decides a result besides the model and the text: an operation and its
        options. `compute` is called once, with the texts that no cache has; when it raises, nothing
        is cached. `unpack` takes a text and a value, and raises one of UNREADABLE for what `pack`
        did not make for that text.
        """
        keys = {text: self._key(question, text) for text in texts}
        found = self._read(keys, unpack)
        missing = [text for text in keys if text not in found]

        computed: dict[str, T] = {}
        if missing:
            computed = dict(zip(missing, compute(missing), strict=True))
            self._cache.put_many({keys[text]: pack(result) for text, result in computed.items()})

        return found | computed, frozenset(found)

    def _read(self, keys: Mapping[str, str], unpack: Callable[[str, bytes], T]) -> dict[str, T]:
        values = self._cache.get_many(list(keys.values()))

        found = {}
        for text, key in keys.items():
            # What does not read back (a torn write, another program's item) is a miss too.
            with suppress(*UNREADABLE):
                found[text] = unpack(text, values[key])
        return found

    def _key(self, question: Sequence[Option], text: str) -> str:
        """SHA-256, in hexadecimal."""
        deciding = [RESULT_VERSION, self._model_digest, *question, text]
        return hashlib.sha256(json.dumps(deciding).encode()).hexdigest()
