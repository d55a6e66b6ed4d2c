"""Tokens that a fine-tune added to a vocabulary, from the three files that may say so.

A tokenizer matches them whole, before anything else, as each token says of itself.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tokenizers import AddedToken

from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.json_files import read_object_if_any

FLAGS: Final = ("single_word", "lstrip", "rstrip", "normalized", "special")


class Added(NamedTuple):
    """One added token, under the names of Hugging Face's files."""

    id: int
    content: str
    single_word: bool = False  # not inside of a word
    lstrip: bool = False  # takes the white space before it
    rstrip: bool = False
    normalized: bool = True  # matched in the normalised text
    special: bool = False  # a marker, never a candidate

    def for_tokenizer(self) -> AddedToken:
        """The same for the tokenizers library."""
        return AddedToken(
            self.content,
            single_word=self.single_word,
            lstrip=self.lstrip,
            rstrip=self.rstrip,
            normalized=self.normalized,
            special=self.special,
        )


def read(folder: Path) -> list[Added]:
    """The added tokens of a checkpoint folder, by id.

    Raises CheckpointError where a file cannot be read or two files disagree.
    """
    found: dict[int, Added] = {}
    try:
        for token in _listed(folder):
            known = found.setdefault(token.id, token)
            if known.content != token.content:
                raise CheckpointError(
                    f"{folder} gives the id {token.id} to two different added tokens."
                )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise CheckpointError(f"{folder} does not list its added tokens with their ids.") from None

    contents = {token.content for token in found.values()}
    if len(contents) != len(found):
        raise CheckpointError(f"{folder} gives two ids to one added token.")
    return [found[index] for index in sorted(found)]


def _listed(folder: Path) -> Iterator[Added]:
    """Every mention of an added token; the file that says most comes first."""
    for described in read_object_if_any(folder / "tokenizer.json").get("added_tokens") or ():
        yield _token(described["id"], described)

    configuration = read_object_if_any(folder / "tokenizer_config.json")
    for index, described in (configuration.get("added_tokens_decoder") or {}).items():
        yield _token(int(index), described)

    for content, index in read_object_if_any(folder / "added_tokens.json").items():
        yield _token(index, {"content": content})


def _token(index: Any, described: dict[str, Any]) -> Added:
    content = described["content"]
    flags = {name: described[name] for name in FLAGS if name in described}
    if type(index) is not int or index < 0 or not isinstance(content, str) or not content:
        raise TypeError
    if not all(isinstance(flag, bool) for flag in flags.values()):
        raise TypeError

    # A special token is matched in the text as it was sent, unless it says otherwise.
    flags.setdefault("normalized", not flags.get("special", False))
    return Added(index, content, **flags)
