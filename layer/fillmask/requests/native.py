"""The requests of our own API as types: a JSON value that passed its schema, defaults filled in.

The other APIs, OpenAI's and Hugging Face's, are translated to these.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from fillmask import limits
from fillmask.errors import InvalidRequest
from fillmask.requests import schema
from fillmask.requests.validate import validate

DEFAULT_OPERATION: Final = "fill-mask"  # of an event or a message that names none
LEAST_BEAM_WIDTH: Final = 10
MOST_BEAM_WIDTH: Final = 100


class Options(NamedTuple):
    """What changes the answer for a text, besides the text; a part of the cache key."""

    top_k: int
    targets: tuple[str, ...]  # to be scored in place of the likeliest tokens, if there are any
    mode: str  # "independent" or "joint"
    lowercase: bool
    include_subwords: bool

    @property
    def beam_width(self) -> int:
        """Partial fillings that joint mode keeps after each mask: twice what is asked for."""
        return min(max(2 * self.top_k, LEAST_BEAM_WIDTH), MOST_BEAM_WIDTH)


class FillMaskRequest(NamedTuple):
    """Texts with masks, and what is wanted of them."""

    texts: Sequence[str]
    options: Options

    @classmethod
    def read(cls, value: object, lowercase: bool) -> "FillMaskRequest":
        """The request in a JSON value; `lowercase` is the model's default.

        Raises InvalidRequest or TooLarge.
        """
        fields = validate(value, schema.FILL_MASK)
        options = Options(
            top_k=fields["top_k"],
            targets=tuple(fields.get("targets", ())),
            mode=fields["mode"],
            lowercase=fields.get("lowercase", lowercase),
            include_subwords=fields["include_subwords"],
        )

        several = "texts" in fields
        texts = fields["texts"] if several else [fields["text"]]
        names = _numbered("texts", texts) if several else ["text"]

        for target, name in zip(
            options.targets, _numbered("targets", options.targets), strict=True
        ):
            limits.check("target_characters", len(target), f"characters of {name}", field=name)

        _check_characters(
            [*texts, *options.targets], [*names, *_numbered("targets", options.targets)]
        )
        return cls(texts, options)


class EmbedRequest(NamedTuple):
    """Texts to embed, and the form of their vectors."""

    texts: Sequence[str]
    names: Sequence[str]  # of the texts' fields in the request, for errors
    dimensions: int
    base64: bool

    @classmethod
    def read(cls, value: object, most_dimensions: int) -> "EmbedRequest":
        """The request in a JSON value; a vector of the model has `most_dimensions`.

        Raises InvalidRequest or TooLarge.
        """
        fields = validate(value, schema.EMBED)

        dimensions = fields.get("dimensions", most_dimensions)
        if dimensions > most_dimensions:
            raise InvalidRequest.of(
                "dimensions",
                f"must be at most {most_dimensions}, what the model has",
                "The field dimensions",
            )

        several = isinstance(fields["input"], list)
        texts = fields["input"] if several else [fields["input"]]
        names = _numbered("input", texts) if several else ["input"]

        _check_characters(texts, names)
        return cls(texts, names, dimensions, base64=fields["encoding_format"] == "base64")


class SimilarityRequest(NamedTuple):
    """Texts to compare: the rows of a matrix and its columns."""

    texts: Sequence[str]
    against: Sequence[str]  # empty: the texts themselves

    @classmethod
    def read(cls, value: object) -> "SimilarityRequest":
        """The request in a JSON value; raises InvalidRequest or TooLarge."""
        fields = validate(value, schema.SIMILARITY)
        request = cls(fields["texts"], fields.get("against", []))

        _check_characters([*request.texts, *request.against], request.names)
        return request

    @property
    def names(self) -> Sequence[str]:
        """Of the fields in the request, for errors: those of the texts, then the others."""
        return [*_numbered("texts", self.texts), *_numbered("against", self.against)]


def _numbered(name: str, texts: Sequence[str]) -> list[str]:
    return [f"{name}[{index}]" for index in range(len(texts))]


def _check_characters(texts: Sequence[str], names: Sequence[str]) -> None:
    for text, name in zip(texts, names, strict=True):
        limits.check("characters", len(text), f"characters of {name}", field=name)

    limits.check("total_characters", sum(map(len, texts)), "characters of the request")
