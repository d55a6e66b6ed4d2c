"""model.json, the contract of a model folder: what the builder wrote and the engine relies on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from fillmask.errors import EngineUnavailable

FORMAT: Final = 1  # of the folder; a builder that changes the graph's inputs raises it
FILES: Final = ("model.onnx", "cold.onnx", "model.onnx.data", "tokenizer.json")
POOLING_MODES: Final = ("mean", "cls")
TASKS: Final = ("fill-mask", "embed")
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
    _check_files(folder, members)
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
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise EngineUnavailable(
                f"{self.where} has a {name!r} of type {type(value).__name__}, not {kind.__name__}."
            )
        return value

    def number(self, name: str, least: int, most: int | None = None) -> int:
        """The member, a whole number in these bounds; raises EngineUnavailable."""
        value = self.take(name, int)
        if value < least or (most is not None and value > most):
            bounds = f"at least {least}" if most is None else f"from {least} to {most}"
            raise EngineUnavailable(f"{self.where} has {name!r} = {value}, which must be {bounds}.")
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
    except (FileNotFoundError, NotADirectoryError):
        raise EngineUnavailable(f"There is no {path.name} in {path.parent}.") from None
    except OSError as error:
        raise EngineUnavailable(f"{path} could not be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise EngineUnavailable(f"{path} is not JSON.") from None

    if not isinstance(content, dict):
        raise EngineUnavailable(f"{path} is not a JSON object.")
    return content


def _check_files(folder: Path, members: _Members) -> None:
    """Raises EngineUnavailable unless every file is there with the size that is written."""
    files = members.part("files")
    for name in FILES:
        files.number(name, 1)

    for name, size in files.content.items():
        file = folder / name
        if not file.is_file() or file.stat().st_size != size:
            raise EngineUnavailable(
                f"{file} is missing or does not have the {size} bytes that model.json says."
            )


def _manifest(members: _Members) -> Manifest:
    vocabulary = members.number("vocabulary", 1)

    return Manifest(
        id=members.take("id", str),
        digest=members.take("digest", str),
        tasks=_tasks(members),
        vocabulary=vocabulary,
        max_tokens=members.number("max_tokens", FRAME_TOKENS + 1),
        hidden=members.number("hidden", 1),
        mask_token=members.take_or_null("mask_token", str, ""),
        special=_special(members.part("special"), vocabulary),
        lowercase=members.take("lowercase", bool),
        pooling=_pooling(members.part("pooling")),
        content=members.content,
    )


def _tasks(members: _Members) -> tuple[str, ...]:
    tasks = members.take("tasks", list)
    if not tasks or not all(isinstance(task, str) and task in TASKS for task in tasks):
        raise EngineUnavailable(f"{members.where} has 'tasks' other than {' and '.join(TASKS)}.")
    return tuple(tasks)


def _special(members: _Members, vocabulary: int) -> Special:
    last = vocabulary - 1
    return Special(
        pad=members.number("pad", 0, last),
        unknown=members.number("unknown", 0, last),
        start=members.number("start", 0, last),
        end=members.number("end", 0, last),
        mask=members.number("mask", NO_TOKEN, last) if "mask" in members.content else NO_TOKEN,
    )


def _pooling(members: _Members) -> Pooling:
    mode = members.take("mode", str)
    if mode not in POOLING_MODES:
        raise EngineUnavailable(f"{members.where} has mode {mode!r}; known are mean and cls.")
    return Pooling(mode, members.take("special_tokens", bool))
