"""A whole checkpoint: its sizes, its tensors and its tokenizer, checked against each other.

Does not fetch (hub.py) and does not convert (builder/graph).
"""

from collections import ChainMap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from builder.checkpoint import config, unigram, weights, wordpiece
from builder.checkpoint.architecture import Expected, Shape, encoder_tensors, head_tensors
from builder.checkpoint.config import Config
from builder.checkpoint.dense import NAME, Dense
from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.naming import Folded, Renamed
from builder.checkpoint.tensors import Array
from builder.checkpoint.unigram import Unigram
from builder.checkpoint.wordpiece import WordPiece

ENCODER: Final = ("embeddings", "encoder.")  # begin the names of its tensors
# Rows of 0, 1, 2 ... and of zeros that some versions of transformers save.
COUNTERS: Final = ("embeddings.position_ids", "embeddings.token_type_ids")


class Checkpoint(NamedTuple):
    """A checkpoint that can be built.

    `tensors` go by BERT's names (bert.py) and are read, as float32, when they are asked for. There
    is a token for every row of the embedding table.
    """

    shape: Shape
    tensors: Mapping[str, Array]
    tokenizer: WordPiece | Unigram  # the second for embeddings alone
    dense: Dense | None = None  # applied to what the encoder puts out

    @property
    def dimensions(self) -> int:
        """Of a hidden state as the model puts it out."""
        return len(self.dense.bias) if self.dense else self.shape.hidden

    def followed_by(self, dense: Dense) -> "Checkpoint":
        """The same with a matrix behind; raises CheckpointError where it does not fit."""
        if dense.weight.shape[1] != self.shape.hidden:
            raise CheckpointError(
                f"The Dense step takes vectors of {dense.weight.shape[1]}, and the encoder's have "
                f"{self.shape.hidden}."
            )
        added = {f"{NAME}.weight": dense.weight, f"{NAME}.bias": dense.bias}
        tensors = ChainMap(added, self.tensors)  # type: ignore[arg-type]  # which is only read
        return self._replace(dense=dense, tensors=tensors)

    @classmethod
    def load(cls, folder: Path, *, head: bool = True) -> "Checkpoint":
        """Opens a Hugging Face folder and checks all of it.

        Raises CheckpointError where it is not BERT or is damaged, and where it lacks a masked-LM
        `head` that is asked for.
        """
        described = config.read(folder)
        architecture, shape = described.architecture, described.shape

        stored = weights.open_folder(folder)
        tensors = Renamed(
            stored,
            architecture,
            tied=described.tied,
            unused_positions=described.unused_positions,
        )
        tokenizer = _tokenizer(folder, head=head)

        _check_vocabulary(tensors, described, len(tokenizer.tokens))
        _check(tensors, encoder_tensors(architecture.tensors, shape))
        _check(tensors, _tables(tensors, described))
        _check_unread(tensors, described)
        if head:
            _check_head(tensors, described)

        folded = Folded(tensors, described.folds)
        return cls(shape, folded, tokenizer.padded(shape.vocabulary))


def _tokenizer(folder: Path, *, head: bool) -> WordPiece | Unigram:
    if not unigram.found(folder):
        return wordpiece.read(folder)
    if head:
        raise CheckpointError(
            f"{folder} has a Unigram tokenizer, which can be built for embeddings alone: "
            "--task embed. Masks are filled with WordPiece."
        )
    return unigram.read(folder)


def _check_vocabulary(tensors: Mapping[str, Array], described: Config, tokens: int) -> None:
    """There may be more embeddings than tokens, but not fewer.

    Spare ones make a rounder number, or are there for tokens to come.
    """
    words, vocabulary = described.architecture.tensors.words, described.shape.vocabulary
    if words not in tensors:
        first = ", ".join(sorted(tensors)[:3]) or "none"
        raise CheckpointError(f"The checkpoint has no tensor {words}; its first are {first}.")

    rows = tensors[words].shape[:1]
    if rows != (vocabulary,) or tokens > vocabulary:
        raise CheckpointError(
            f"The vocabulary does not fit: {tokens} tokens, {sum(rows)} embeddings, "
            f"vocab_size {vocabulary}."
        )


def _tables(tensors: Mapping[str, Array], described: Config) -> list[Expected]:
    """The tables to be folded that are there or have to be."""
    wanted = described.demanded | frozenset(tensors)
    return [table for table in described.foldable if table.name in wanted]


def _check_unread(tensors: Mapping[str, Array], described: Config) -> None:
    """Raises CheckpointError for a tensor of the encoder that the graph would leave out."""
    names, shape = described.architecture.tensors, described.shape
    read = {tensor.name for tensor in [*encoder_tensors(names, shape), *described.foldable]}
    for name in tensors:
        if name.startswith(ENCODER) and name not in read and name not in COUNTERS:
            raise CheckpointError(
                f"The checkpoint has a tensor {name}, and {described.architecture.model_type!r} "
                "has none with the sizes in config.json: without it the answers would be others."
            )


def _check_head(tensors: Mapping[str, Array], described: Config) -> None:
    names, shape = described.architecture.tensors, described.shape
    expected = list(head_tensors(names, shape, tied=described.tied))
    matrices = (tensor for tensor in expected if len(tensor.size) > 1)
    if not all(tensor.name in tensors for tensor in matrices):
        raise CheckpointError(
            "The checkpoint has no masked-LM head (cls.predictions.*), so it cannot fill masks; "
            "--task embed builds it for embeddings alone."
        )
    _check(tensors, expected)


def _check(tensors: Mapping[str, Array], expected: Iterable[Expected]) -> None:
    """Raises CheckpointError for the first that is missing, of another size, or not finite."""
    for name, size in expected:
        if name not in tensors:
            raise CheckpointError(f"The checkpoint has no tensor {name}.")

        tensor = tensors[name]
        if tensor.shape != size:
            raise CheckpointError(
                f"The tensor {name} is {_by(tensor.shape)}, and config.json asks for {_by(size)}."
            )
        if not np.isfinite(tensor).all():
            raise CheckpointError(f"The tensor {name} holds NaN or infinity: the file is damaged.")


def _by(size: tuple[int, ...]) -> str:
    return " x ".join(map(str, size)) or "one number"
