"""Tensors of one .safetensors file as a lazy mapping name -> numpy array, and what every format shares.

torch_file.py reads torch's own format; weights.py finds the files of a folder.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

Array = npt.NDArray[Any]


class TensorError(Exception):
    """The weights cannot be read; one sentence says why."""


def widen(raw: Array | bytes, kind: str) -> Array:
    """Float32 from float16, bfloat16 (the upper half of a float32) or float64 values."""
    if kind == "bf16":
        return (np.frombuffer(raw, dtype="<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(raw, dtype=kind).astype(np.float32, copy=False)


class Safetensors(Mapping[str, Array]):
    """One .safetensors file, memory-mapped."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = safe_open(path, framework="numpy")
        except (
            Exception
        ) as error:  # the library raises its own untyped error for every malformed file
            raise TensorError(f"{path} is not a readable safetensors file: {error}.") from error
        self._path, self._names = path, list(self._file.keys())  # type: ignore[no-untyped-call]

    def __getitem__(self, name: str) -> Array:
        try:
            if self._file.get_slice(name).get_dtype() == "BF16":  # type: ignore[no-untyped-call]
                return self._bfloat16(name)
            return np.asarray(self._file.get_tensor(name))  # type: ignore[no-untyped-call]
        except Exception as error:  # as above, for every type that numpy does not have
            raise TensorError(
                f"{self._path} holds {name} in a form that cannot be read: {error}."
            ) from error

    def _bfloat16(self, name: str) -> Array:
        """numpy has no bfloat16: read the bytes at the offsets that the file's header gives."""
        with self._path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            row = json.loads(file.read(length))[name]
            start, end = row["data_offsets"]
            file.seek(8 + length + start)
            return widen(file.read(end - start), "bf16").reshape(row["shape"])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
