"""The operations by name: a decoded request in, an answer or a FillMaskError out.

Knows nothing of HTTP, SQS, DynamoDB or onnxruntime: it is handed an engine, a codec and a cache.
The answer for a text does not depend on the texts it is asked with.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fillmask import limits
from fillmask.cache.memory import Cache
from fillmask.cache.remember import ResultCache
from fillmask.errors import InvalidRequest, NoMask, OperationUnavailable
from fillmask.model.contract import Engine
from fillmask.model.text import Encoded, TextCodec
from fillmask.operations import render
from fillmask.operations.answers import FilledText
from fillmask.operations.fill import Filler
from fillmask.requests.json_text import JsonObject
from fillmask.requests.native import EmbedRequest, FillMaskRequest, Options, SimilarityRequest

if TYPE_CHECKING:
    from fillmask.operations.embed import Embedding

# The operations, and the task that the model must have been built for.
TASKS: Final = {"fill-mask": "fill-mask", "embed": "embed", "similarity": "embed"}


class Service:
    """Answers the operations in TASKS."""

    def __init__(self, engine: Engine, codec: TextCodec, cache: Cache) -> None:
        self.manifest = engine.manifest
        self._engine, self._codec = engine, codec
        self._cache = ResultCache(cache, engine.manifest.digest)
        self._filler = Filler(engine, codec)

    def answer(self, operation: object, request: object) -> dict[str, Any]:
        """The answer to a decoded JSON request; raises FillMaskError."""
        # What names the operation comes from an event or a message, and may be any JSON value.
        if not isinstance(operation, str) or operation not in TASKS:
            raise InvalidRequest.of(
                "operation", f"must be one of {', '.join(TASKS)}", "The operation"
            )

        if TASKS[operation] not in self.manifest.tasks:
            raise OperationUnavailable(f"The model {self.manifest.id} has no head for {operation}.")

        if operation == "fill-mask":
            return self.fill_mask(FillMaskRequest.read(request, self.manifest.lowercase))
        if operation == "embed":
            return self.embed(EmbedRequest.read(request, self.manifest.hidden))
        return self.similarity(SimilarityRequest.read(request))

    def warm_up(self) -> dict[str, bool]:
        """Runs the model once, so that the next answer meets nothing cold."""
        if "fill-mask" in self.manifest.tasks:
            request = {"text": self.manifest.mask_token, "top_k": 1}
            asked = FillMaskRequest.read(request, self.manifest.lowercase)
            self._fill(asked, asked.texts)
        else:
            self._embed(["一"], ["input"], ["一"])
        return {"ok": True}

    def fill_mask(self, asked: FillMaskRequest) -> JsonObject:
        """The answer to POST /v1/fill-mask."""
        texts, options = asked.texts, asked.options
        answers, cached = self._cache.results(
            ("fill-mask", *options),
            texts,
            partial(self._fill, asked),
            FilledText.pack,
            partial(self._stored, options),
        )

        # How many whole fillings there are, and so the size of the answer, is known only now.
        _check_answer_size([render.size(answers[text], text, options) for text in texts])

        return {
            "model": render.model(self.manifest),
            "results": [
                render.filled_text(answers[text], text, options, self._codec, cached=text in cached)
                for text in texts
            ],
        }

    def embed(self, asked: EmbedRequest) -> JsonObject:
        """The answer to POST /v1/embeddings."""
        embeddings = self._embeddings(asked.texts, asked.names)

        return render.openai_embeddings(
            embeddings, asked.dimensions, self.manifest.id, as_base64=asked.base64
        )

    def similarity(self, asked: SimilarityRequest) -> JsonObject:
        """The answer to POST /v1/similarity: cosines of the texts with others, or each other."""
        from fillmask.operations.embed import similarity  # noqa: PLC0415  (numpy)

        embeddings = self._embeddings([*asked.texts, *asked.against], asked.names)

        rows, others = embeddings[: len(asked.texts)], embeddings[len(asked.texts) :]
        return {"model": render.model(self.manifest), "matrix": similarity(rows, others or rows)}

    def _fill(self, asked: FillMaskRequest, texts: Sequence[str]) -> list[FilledText]:
        """Answers for some of the texts asked for; the errors name a text by its index."""
        encoded = [self._encode(text, asked) for text in texts]

        _check_answer_size(
            [
                render.least_size(text, len(tokens.masks), asked.options)
                for text, tokens in zip(texts, encoded, strict=True)
            ]
        )
        return self._filler.fill(encoded, asked.options)

    def _stored(self, options: Options, text: str, value: bytes) -> FilledText:
        from fillmask.operations import stored  # noqa: PLC0415  (no first answer needs it)

        return stored.read(value, text, options, self.manifest)

    def _encode(self, text: str, asked: FillMaskRequest) -> Encoded:
        """The tokens of a text; raises NoMask or TooLarge."""
        encoded = self._codec.encode(text, asked.options.lowercase)
        index = asked.texts.index(text)

        if not encoded.masks:
            hint = self._codec.near_mask(text)
            ending = f": {hint}." if hint else "."
            raise NoMask(
                f"Text {index} has no {self.manifest.mask_token}{ending}", index=index, hint=hint
            )

        limits.check("masks", len(encoded.masks), f"masks of text {index}", index=index)
        return encoded

    def _embeddings(self, texts: Sequence[str], names: Sequence[str]) -> "list[Embedding]":
        """One embedding per text; `names` are those of the texts' fields in the request."""
        from fillmask.operations.embed import Embedding  # noqa: PLC0415  (numpy)

        embeddings, _ = self._cache.results(
            ("embed",),
            texts,
            partial(self._embed, texts, names),
            Embedding.pack,
            lambda _, value: Embedding.unpack(value, self.manifest.hidden),
        )
        return [embeddings[text] for text in texts]

    def _embed(
        self, asked: Sequence[str], names: Sequence[str], texts: Sequence[str]
    ) -> "list[Embedding]":
        """Embeddings of some of the texts asked for; the errors name a text by its field."""
        from fillmask.operations.embed import Embedder  # noqa: PLC0415  (numpy)

        embedder = Embedder(self._engine, self._codec)
        return embedder.embed(texts, [names[asked.index(text)] for text in texts])


def _check_answer_size(characters: Sequence[int]) -> None:
    limits.check(
        "answer_characters",
        sum(characters),
        "characters of the answer; ask for fewer texts, masks, candidates or targets",
    )
