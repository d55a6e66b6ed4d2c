"""The operations: a decoded request in, an answer or a FillMaskError out.

Knows nothing of HTTP, SQS, DynamoDB or onnxruntime: it is handed an engine, a codec and a cache. Equal texts
are computed once, cached ones not at all, and a text's answer is the same in every company.
"""

import base64
import hashlib
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fillmask import limits
from fillmask.cache.memory import Cache
from fillmask.errors import InvalidRequest, NoMask, OperationUnavailable
from fillmask.model.contract import Engine
from fillmask.model.text import TextCodec
from fillmask.operations import render
from fillmask.operations.fill import Filler, Options, unpack_filled
from fillmask.requests import schema
from fillmask.requests.validate import validate

if TYPE_CHECKING:
    from fillmask.operations.embed import Embedding

Json = dict[str, Any]
RESULT_VERSION: Final = 1  # of the cached values; raise it when their meaning changes


class Service:
    """Answers operations by name; see OPERATIONS."""

    def __init__(self, engine: Engine, codec: TextCodec, cache: Cache) -> None:
        self.manifest = engine.manifest
        self._engine, self._codec, self._cache = engine, codec, cache
        self._filler = Filler(engine, codec)

    def answer(self, operation: object, request: object) -> Json:
        """The answer to a decoded JSON request; raises FillMaskError."""
        if (
            not isinstance(operation, str) or operation not in OPERATIONS
        ):  # a direct event or a message can hold any
            raise InvalidRequest.of(
                "operation", f"must be one of {', '.join(OPERATIONS)}", "The operation"
            )
        row = OPERATIONS[operation]
        if row.task not in self.manifest.tasks:
            raise OperationUnavailable(f"The model {self.manifest.id} has no head for {operation}.")
        return row.method(self, validate(request, row.schema))

    def warm_up(self) -> Json:
        """Run the model once, so that the next answer meets nothing cold."""
        if "fill-mask" in self.manifest.tasks:
            self._fill([self.manifest.mask_token], self._options({"top_k": 1}))
        else:
            self._embed({"一": "input"}, ["一"])
        return {"ok": True}

    def fill_mask(self, request: Json) -> Json:
        """POST /v1/fill-mask of the contract, validated."""
        texts: list[str] = request["texts"] if "texts" in request else [request["text"]]
        options = self._options(request)
        fields = _fields("texts", texts) if "texts" in request else ["text"]
        _check_characters(
            [*texts, *options.targets], [*fields, *_fields("targets", options.targets)]
        )

        def compute(missing: Sequence[str]) -> list[Json]:
            return self._fill(missing, options, texts)

        values, cached = self._remembered("fill-mask", options, texts, compute, FILLED)
        limits.check(
            "answer_characters",
            sum(render.size(values[text], text, options) for text in texts),
            "characters of the answer",
        )
        return {
            "model": {"id": self.manifest.id, "digest": self.manifest.digest},
            "results": [
                render.result(values[text], text, options, self._codec, cached=text in cached)
                for text in texts
            ],
        }

    def embed(self, request: Json) -> Json:
        """POST /v1/embeddings, OpenAI's shape."""
        one = isinstance(request["input"], str)
        texts = [request["input"]] if one else request["input"]
        width = request.get("dimensions", self.manifest.hidden)
        if width > self.manifest.hidden:
            raise InvalidRequest.of(
                "dimensions",
                f"must be at most {self.manifest.hidden}, what the model has",
                "The field dimensions",
            )
        embeddings = self._embeddings(texts, ["input"] if one else _fields("input", texts))
        vectors = [
            row.vector if width == self.manifest.hidden else row.leading(width)
            for row in embeddings
        ]
        as_text = request["encoding_format"] == "base64"
        tokens = sum(row.tokens for row in embeddings)
        return {
            "object": "list",
            "model": self.manifest.id,
            "data": [
                {
                    "object": "embedding",
                    "index": index,
                    "embedding": base64.b64encode(vector.tobytes()).decode()
                    if as_text
                    else vector.tolist(),
                }
                for index, vector in enumerate(vectors)
            ],
            "usage": {
                "prompt_tokens": tokens,
                "total_tokens": tokens,
                "windows": sum(row.windows for row in embeddings),
            },
        }

    def similarity(self, request: Json) -> Json:
        """POST /v1/similarity: cosines of the texts against others or each other, from one batch."""
        from fillmask.operations.embed import similarity  # noqa: PLC0415  (numpy)

        texts: list[str] = request["texts"]
        against: list[str] = request.get("against", [])
        rows = self._embeddings(
            [*texts, *against], [*_fields("texts", texts), *_fields("against", against)]
        )
        matrix = similarity(rows[: len(texts)], rows[len(texts) :] or rows)
        return {"model": {"id": self.manifest.id, "digest": self.manifest.digest}, "matrix": matrix}

    def _options(self, request: Json) -> Options:
        return Options(
            top_k=request["top_k"],
            targets=tuple(request.get("targets", ())),
            mode=request.get("mode", "independent"),
            lowercase=request.get("lowercase", self.manifest.lowercase),
            include_subwords=request.get("include_subwords", False),
        )

    def _fill(
        self, missing: Sequence[str], options: Options, texts: Sequence[str] = ()
    ) -> list[Json]:
        """Values of texts that no cache had; errors name a text by its place in `texts`."""
        encoded = [self._codec.encode(text, options.lowercase) for text in missing]
        for text, tokens in zip(missing, encoded, strict=True):
            index = texts.index(text) if texts else 0
            if not tokens.masks:
                hint = self._codec.near_mask(text)
                raise NoMask(
                    f"Text {index} has no {self.manifest.mask_token}"
                    + (f": {hint}." if hint else "."),
                    index=index,
                    hint=hint,
                )
            limits.check("masks", len(tokens.masks), f"masks of text {index}", index=index)
        wanted = [
            render.least_size(text, len(tokens.masks), options)
            for text, tokens in zip(missing, encoded, strict=True)
        ]
        limits.check("answer_characters", sum(wanted), "characters of the answer")
        return self._filler.answer(encoded, options)

    def _embeddings(self, texts: Sequence[str], fields: Sequence[str]) -> "list[Embedding]":
        """One a text; `fields` are the texts' places in the request."""
        from fillmask.operations.embed import Embedding  # noqa: PLC0415  (numpy)

        _check_characters(texts, fields)
        width = self.manifest.hidden
        form = Form(Embedding.pack, lambda value: Embedding.unpack(value, width))
        places = dict(zip(reversed(texts), reversed(fields), strict=True))
        found, _ = self._remembered(
            "embed", (), texts, lambda missing: self._embed(places, missing), form
        )
        return [found[text] for text in texts]

    def _embed(self, places: Mapping[str, str], missing: Sequence[str]) -> "list[Embedding]":
        from fillmask.operations.embed import Embedder  # noqa: PLC0415  (numpy)

        return Embedder(self._engine, self._codec).answer(
            missing, [places[text] for text in missing]
        )

    def _remembered(
        self,
        operation: str,
        options: tuple[Any, ...],
        texts: Sequence[str],
        compute: Callable[[Sequence[str]], Sequence[Any]],
        form: "Form",
    ) -> tuple[dict[str, Any], set[str]]:
        """The value of each distinct text, from the cache or computed and cached; and which were cached."""
        keys = {text: self._key(operation, options, text) for text in texts}
        found = self._cache.get_many(list(keys.values()))
        values = {}
        for text, key in keys.items():
            # A value that does not read back (a torn write, another program's item) is a miss like any other.
            with suppress(ValueError, KeyError, TypeError, struct.error):
                values[text] = form.unpack(found[key])
        missing = [text for text in keys if text not in values]
        cached = set(values)
        if missing:
            computed = dict(zip(missing, compute(missing), strict=True))
            self._cache.put_many({keys[text]: form.pack(value) for text, value in computed.items()})
            values |= computed
        return values, cached

    def _key(self, operation: str, options: tuple[Any, ...], text: str) -> str:
        """SHA-256 over everything that decides the answer; no text can be read back from it."""
        parts = [RESULT_VERSION, self.manifest.digest, operation, *options, text]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _fields(name: str, texts: Sequence[str]) -> list[str]:
    return [f"{name}[{index}]" for index in range(len(texts))]


def _check_characters(texts: Sequence[str], fields: Sequence[str]) -> None:
    for text, field in zip(texts, fields, strict=True):
        limits.check("characters", len(text), f"characters of {field}", field=field)
    limits.check("total_characters", sum(map(len, texts)), "characters of the request")


class Form(NamedTuple):
    """How the values of an operation become a cache's bytes and come back."""

    pack: Callable[[Any], bytes]
    unpack: Callable[[bytes], Any]


COMPACT: Final = json.JSONEncoder(
    separators=(",", ":")
)  # made once: json.dumps would make one a call
FILLED: Final = Form(lambda value: COMPACT.encode(value).encode(), unpack_filled)


class Operation(NamedTuple):
    """What an operation takes, what answers it, and the task that the model must have been built for."""

    schema: schema.Schema
    method: Callable[[Service, Json], Json]
    task: str


OPERATIONS: Final = {
    "fill-mask": Operation(schema.FILL_MASK, Service.fill_mask, "fill-mask"),
    "embed": Operation(schema.EMBED, Service.embed, "embed"),
    "similarity": Operation(schema.SIMILARITY, Service.similarity, "embed"),
}
