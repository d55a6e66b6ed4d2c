"""model.json, the contract of a model folder: what the builder wrote and the engine relies on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from fillmask.errors import EngineUnavailable

FORMAT: Final = 1  # of the folder; a builder that changes the graph's inputs raises it
FILES: Final = ("model.onnx", "cold.onnx", "model.onnx.data", "tokenizer.json")
POOLING_MODES: Final = ("mean", "cls")
FRAME_TOKENS: Final = 2  # [CLS] and [SEP], which the model reads around the tokens of a text
NO_TOKEN: Final = -1  # stands for the id of a token that the vocabulary does not have

Kind = TypeVar("Kind")


class Special(NamedTuple):
    """Ids of the tokens that stand for something other than text."""

    pad: int
    unknown: int
    start: int  # [CLS], before the tokens of a text
    end: int  # [SEP], after them
    mask: int  # NO_TOKEN where the vocabulary of an encoder for embeddings has none

    def enclose(self, token_ids: Sequence[int]) -> list[int]:
        """What the model reads of a text: [CLS], its tokens, [SEP]. Token i has position i + 1."""
        return [self.start, *token_ids, self.end]


class Pooling(NamedTuple):
    """How the hidden states of a text become one vector."""

    mode: str  # "mean", or "cls" for the first position alone
    special_tokens: bool  # whether a mean counts [CLS] and [SEP]


class Manifest(NamedTuple):
    """What the run-time package needs to know of a model."""

    id: str
    digest: str  # of the files and of everything here that decides an answer
    tasks: tuple[str, ...]
    vocabulary: int
    max_tokens: int  # [CLS] and [SEP] included
    hidden: int
    mask_token: str  # empty where the vocabulary has none
    special: Special
    lowercase: bool
    pooling: Pooling
    content: dict[str, Any]  # the whole file, for GET /info

    @property
    def capacity(self) -> int:
        """How many tokens of a text fit between [CLS] and [SEP]."""
        return self.max_tokens - FRAME_TOKENS


def read(folder: Path) -> Manifest:
    """The checked model.json of a folder; raises EngineUnavailable, which names file and folder."""
    path = folder / "model.json"
    members = _Members(str(path), _json_object(path))

    written = members.content.get("format")
    if written != FORMAT:
        raise EngineUnavailable(f"{path} has format {written!r}, and this package reads {FORMAT}.")

    described = _manifest(members)

    for name, size in members.take("files", dict).items():
        file = folder / name
        if not file.exists() or file.stat().st_size != size:
            raise EngineUnavailable(
                f"{file} is missing or does not have the {size} bytes that {path.name} says."
            )
    return described


class _Members(NamedTuple):
    """The members of a JSON object, with the object's name for errors."""

    where: str
    content: dict[str, Any]

    def take(self, name: str, kind: type[Kind]) -> Kind:
        """The member; raises EngineUnavailable where it is missing or of another kind."""
        if name not in self.content:
            raise EngineUnavailable(f"{self.where} has no {name!r}.")

        value = self.content[name]
        if not isinstance(value, kind):
            raise EngineUnavailable(
                f"{self.where} has a {name!r} of type {type(value).__name__}, not {kind.__name__}."
            )
        return value

    def take_or_null(self, name: str, kind: type[Kind], default: Kind) -> Kind:
        """As `take`, and the default where the file says null."""
        null = name in self.content and self.content[name] is None
        return default if null else self.take(name, kind)

    def part(self, name: str) -> "_Members":
        """A member that is an object itself."""
        return _Members(f"{name!r} in {self.where}", self.take(name, dict))


def _json_object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EngineUnavailable(f"There is no {path.name} in {path.parent}.") from None
    except ValueError:
        raise EngineUnavailable(f"{path} is not JSON.") from None

    if not isinstance(content, dict):
        raise EngineUnavailable(f"{path} is not a JSON object.")
    return content


def _manifest(members: _Members) -> Manifest:
    return Manifest(
        id=members.take("id", str),
        digest=members.take("digest", str),
        tasks=tuple(members.take("tasks", list)),
        vocabulary=members.take("vocabulary", int),
        max_tokens=members.take("max_tokens", int),
        hidden=members.take("hidden", int),
        mask_token=members.take_or_null("mask_token", str, ""),
        special=_special(members.part("special")),
        lowercase=members.take("lowercase", bool),
        pooling=_pooling(members.part("pooling")),
        content=members.content,
    )


def _special(members: _Members) -> Special:
    return Special(
        pad=members.take("pad", int),
        unknown=members.take("unknown", int),
        start=members.take("start", int),
        end=members.take("end", int),
        mask=members.take("mask", int) if "mask" in members.content else NO_TOKEN,
    )


def _pooling(members: _Members) -> Pooling:
    mode = members.take("mode", str)
    if mode not in POOLING_MODES:
        raise EngineUnavailable(f"{members.where} has mode {mode!r}; known are mean and cls.")
    return Pooling(mode, members.take("special_tokens", bool))
