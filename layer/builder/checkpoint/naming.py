"""The tensors of a checkpoint under the names of its architecture, with small tables folded in.

Both mappings read a tensor from its file when it is asked for.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from builder.checkpoint.architecture import Architecture, Fold
from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.tensors import Array


class Renamed(Mapping[str, Array]):
    """Float32 tensors, by the one spelling of their names.

    A decoder that is `tied` to the word embeddings has no matrix of its own, whatever the file
    holds: it may be a leftover of training. One that is not tied has its own bias too, and the
    other one in the file was never trained. The first `unused_positions` of the position table are
    left away.
    """

    def __init__(
        self,
        stored: Mapping[str, Array],
        architecture: Architecture,
        *,
        tied: bool,
        unused_positions: int = 0,
    ) -> None:
        self._stored = stored
        self._positions, self._unused_positions = architecture.tensors.positions, unused_positions
        self._stored_names = {architecture.spelled(name): name for name in stored}

        if tied:
            self._stored_names.pop(architecture.tensors.decoder, None)
        for alias, name in architecture.aliases:
            if alias in self._stored_names and not (tied and name in self._stored_names):
                self._stored_names[name] = self._stored_names[alias]

    def __getitem__(self, name: str) -> Array:
        stored = self._stored[self._stored_names[name]]
        if stored.dtype.kind != "f":
            raise CheckpointError(
                f"The tensor {name} holds {stored.dtype} values: the weights are quantised "
                "already. Build the checkpoint that they were made of."
            )
        tensor = np.asarray(stored, dtype=np.float32)
        return tensor[self._unused_positions :] if name == self._positions else tensor

    def __contains__(self, name: object) -> bool:
        return name in self._stored_names  # without reading the tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored_names)

    def __len__(self) -> int:
        return len(self._stored_names)


class Folded(Mapping[str, Array]):
    """The tensors of another mapping, without the tables that are folded into others."""

    def __init__(self, tensors: Mapping[str, Array], folds: tuple[Fold, ...]) -> None:
        self._tensors = tensors
        self._folds = [fold for fold in folds if fold.table in tensors]
        self._names = frozenset(tensors) - {fold.table for fold in self._folds}

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)

        tensor = self._tensors[name]
        for fold in self._folds:
            if fold.into == name:
                tensor = tensor + self._tensors[fold.table][0]
        return tensor

    def __contains__(self, name: object) -> bool:
        return name in self._names  # without reading the tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
