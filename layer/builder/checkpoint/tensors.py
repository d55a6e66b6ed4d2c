"""The tensors of one .safetensors file, and what all formats of weights share.

torch_file.py reads torch's own format; weights.py finds the files of a folder.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

from builder.checkpoint.errors import CheckpointError

Array = npt.NDArray[Any]
BFLOAT16: Final = "bf16"  # numpy has no type of this kind


def widen(raw: Array | bytes, kind: str) -> Array:
    """Float32 values from those of a numpy type or of BFLOAT16, the upper half of a float32.

    Whole numbers stay whole.
    """
    if kind == BFLOAT16:
        return (np.frombuffer(raw, dtype="<u2").astype(np.uint32) << 16).view(np.float32)
    values = np.frombuffer(raw, dtype=kind)
    return values.astype(np.float32, copy=False) if values.dtype.kind == "f" else values


class SafetensorsFile(Mapping[str, Array]):
    """One .safetensors file, memory-mapped; a tensor is read when it is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # The library raises an untyped error of its own for every malformed file.
        try:
            self._file = safe_open(path, framework="numpy")
        except Exception as error:
            raise CheckpointError(f"{path} is not a readable safetensors file: {error}.") from error
        self._names: list[str] = list(self._file.keys())  # type: ignore[no-untyped-call]

    def __getitem__(self, name: str) -> Array:
        # The same error, for every type that numpy does not have.
        try:
            if self._file.get_slice(name).get_dtype() == "BF16":  # type: ignore[no-untyped-call]
                return self._bfloat16(name)
            return np.asarray(self._file.get_tensor(name))  # type: ignore[no-untyped-call]
        except Exception as error:
            raise CheckpointError(
                f"{self._path} holds {name} in a form that cannot be read: {error}."
            ) from error

    def _bfloat16(self, name: str) -> Array:
        """A tensor out of the bytes that the file's header points to."""
        with self._path.open("rb") as file:
            header_size = int.from_bytes(file.read(8), "little")
            described = json.loads(file.read(header_size))[name]
            start, end = described["data_offsets"]

            file.seek(8 + header_size + start)
            return widen(file.read(end - start), BFLOAT16).reshape(described["shape"])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
