"""The operations: a decoded request in, an answer or a FillMaskError out.

Knows nothing of HTTP, SQS, DynamoDB or onnxruntime: it is handed an engine, a codec and a cache. Equal texts
are computed once, cached ones not at all, and a text's answer is the same in every company.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from fillmask import limits, render, schema
from fillmask.cache import Cache
from fillmask.engine import Engine
from fillmask.errors import InvalidRequest, NoMask, OperationUnavailable
from fillmask.fill import Filler, Options
from fillmask.text import TextCodec

Json = dict[str, Any]
RESULT_VERSION: Final = 1  # of the cached values; raise it when their meaning changes


class Service:
    """Answers operations by name; see OPERATIONS."""

    def __init__(self, engine: Engine, codec: TextCodec, cache: Cache) -> None:
        self.manifest = engine.manifest
        self._codec, self._cache = codec, cache
        self._filler = Filler(engine, codec)

    def answer(self, operation: str, request: object) -> Json:
        """The answer to a decoded JSON request; raises FillMaskError."""
        if operation not in OPERATIONS:
            raise InvalidRequest(f"The operation must be one of {', '.join(OPERATIONS)}.",
                                 errors=[{"field": "operation", "reason": f"must be one of {', '.join(OPERATIONS)}"}])
        wanted, method = OPERATIONS[operation]
        if operation not in self.manifest.tasks:
            raise OperationUnavailable(f"The model {self.manifest.id} has no head for {operation}.")
        return method(self, schema.validate(request, wanted))

    def warm_up(self) -> Json:
        """Run the model once, so that the next answer meets nothing cold."""
        self._filler.answer([self._codec.encode(self.manifest.mask_token, self.manifest.lowercase)],
                            Options(1, (), "independent", self.manifest.lowercase, False))
        return {"ok": True}

    def fill_mask(self, request: Json) -> Json:
        """POST /v1/fill-mask of the contract, validated."""
        texts: list[str] = request["texts"] if "texts" in request else [request["text"]]
        options = Options(
            top_k=request["top_k"], targets=tuple(request.get("targets", ())), mode=request["mode"],
            lowercase=request.get("lowercase", self.manifest.lowercase),
            include_subwords=request["include_subwords"],
        )
        self._check_characters([*texts, *options.targets])
        keys = {text: self._key("fill-mask", options, text) for text in texts}
        found = self._cache.get_many(list(keys.values()))
        cached = {text: json.loads(found[key]) for text, key in keys.items() if key in found}
        computed = self._compute([text for text in keys if text not in cached], texts, options)
        self._cache.put_many({keys[text]: json.dumps(value, separators=(",", ":")).encode()
                              for text, value in computed.items()})
        values = cached | computed
        limits.check("answer_characters", sum(render.size(values[text], text, options) for text in texts),
                     "characters of the answer")
        return {
            "model": {"id": self.manifest.id, "digest": self.manifest.digest},
            "results": [render.result(values[text], text, options, self._codec, cached=text in cached) for text in texts],
        }

    def _compute(self, missing: Sequence[str], texts: Sequence[str], options: Options) -> dict[str, Json]:
        """Values of the distinct texts that no cache had."""
        if not missing:
            return {}
        encoded = [self._codec.encode(text, options.lowercase) for text in missing]
        for text, tokens in zip(missing, encoded, strict=True):
            index = texts.index(text)
            if not tokens.masks:
                hint = self._codec.near_mask(text)
                raise NoMask(f"Text {index} has no {self.manifest.mask_token}" + (f": {hint}." if hint else "."),
                             index=index, hint=hint)
            limits.check("masks", len(tokens.masks), f"masks of text {index}", index=index)
        return dict(zip(missing, self._filler.answer(encoded, options), strict=True))

    def _check_characters(self, texts: Sequence[str]) -> None:
        for index, text in enumerate(texts):
            limits.check("characters", len(text), f"characters of text {index}", index=index)
        limits.check("total_characters", sum(map(len, texts)), "characters of the request")

    def _key(self, operation: str, options: tuple[Any, ...], text: str) -> str:
        """SHA-256 over everything that decides the answer; no text can be read back from it."""
        parts = [RESULT_VERSION, self.manifest.digest, operation, *options, text]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


OPERATIONS: Final[dict[str, tuple[schema.Schema, Callable[[Service, Json], Json]]]] = {
    "fill-mask": (schema.FILL_MASK, Service.fill_mask),
}
