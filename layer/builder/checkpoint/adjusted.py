"""The tensors of a checkpoint, of which some are scaled and shifted as they are read.

Nothing is kept but the factors and the shifts, so that a large checkpoint stays in its file.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from builder.checkpoint.tensors import Array

Factors = npt.NDArray[np.float64]


class Adjusted(Mapping[str, Array]):
    """Tensors of another mapping, times their factors, plus their shifts, in float32."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        self._tensors = tensors
        self._factors: dict[str, Factors] = {}
        self._shifts: dict[str, Factors] = {}

    def scale(self, name: str, by: Factors) -> None:
        """Multiplies a tensor that is not shifted yet, with numpy's rules for shapes."""
        self._factors[name] = self._factors.get(name, np.ones(())) * by

    def shift(self, name: str, by: Factors) -> None:
        """Adds to what a tensor is now."""
        self._shifts[name] = self._shifts.get(name, np.zeros(())) + by

    def __getitem__(self, name: str) -> Array:
        tensor = self._tensors[name]
        if name in self._factors:
            tensor = tensor * self._factors[name]
        if name in self._shifts:
            tensor = tensor + self._shifts[name]
        return np.asarray(tensor, dtype=np.float32)

    def __contains__(self, name: object) -> bool:
        return name in self._tensors  # without reading the tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)
