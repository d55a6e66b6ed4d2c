"""One pytorch_model.bin as a lazy mapping name -> numpy array, without torch.

The zip format of torch >= 1.6 or the one before is read by an unpickler that knows a few harmless names and refuses
every other, so no pickled code runs; where a tensor lies is checked against the file before numpy looks there.
"""

import io
import math
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from builder.checkpoint.tensors import Array, TensorError, widen

STORAGES = {
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": "bf16",
    "DoubleStorage": "<f8",
    "LongStorage": "<i8",
}
SIZES = {"<f4": 4, "<f2": 2, "bf16": 2, "<f8": 8, "<i8": 8}  # bytes of a value
LEGACY_MAGIC = 0x1950A86A20F9469CFC6C


class Place(NamedTuple):
    """Where a tensor lies in the file: its first byte, the one after its last, its sizes and its steps in values."""

    kind: str
    start: int
    end: int
    size: tuple[int, ...]
    strides: tuple[int, ...]


class Torch(Mapping[str, Array]):
    """One pytorch_model.bin; a tensor's bytes are read when it is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._storages: dict[str, tuple[int, int]] = {}  # where each storage's bytes begin and end
        with path.open("rb") as file:
            try:
                content = self._zipped(file) if zipfile.is_zipfile(file) else self._legacy(file)
                content = content.get("state_dict", content)
                self._tensors = {
                    name: self._place(name, tensor)
                    for name, tensor in content.items()
                    if isinstance(name, str) and isinstance(tensor, _Tensor)
                }
            except TensorError:
                raise
            except Exception as error:  # bytes that are no pickle of torch's can raise anything
                raise TensorError(f"{path} is not a file of torch's.") from error

    def _zipped(self, file: BinaryIO) -> dict[str, Any]:
        """The format of torch >= 1.6: a zip file whose members are stored as they are."""
        archive = zipfile.ZipFile(file)
        pickled = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
        root = pickled.removesuffix("data.pkl") + "data/"
        for member in archive.infolist():
            if member.filename.startswith(root) and member.compress_type == zipfile.ZIP_STORED:
                file.seek(
                    member.header_offset + 26
                )  # a local header: 30 bytes, then a name and an extra field
                name, extra = struct.unpack("<HH", file.read(4))
                start = member.header_offset + 30 + name + extra
                self._storages[member.filename.removeprefix(root)] = (
                    start,
                    start + member.file_size,
                )
        return _dictionary(_Unpickler(io.BytesIO(archive.read(pickled)), self._path).load())

    def _legacy(self, file: BinaryIO) -> dict[str, Any]:
        """The format before: five pickles (magic, version, machine, content, order of the storages), then each
        storage as its number of values and the values."""
        file.seek(0)
        if _Unpickler(file, self._path).load() != LEGACY_MAGIC:
            raise ValueError
        _, _ = (_Unpickler(file, self._path).load() for _ in range(2))
        unpickler = _Unpickler(file, self._path)
        content = _dictionary(unpickler.load())
        for key in _Unpickler(file, self._path).load():
            values = int.from_bytes(file.read(8), "little")
            start = file.tell()
            self._storages[key] = (start, start + values * SIZES[unpickler.kinds[key]])
            file.seek(self._storages[key][1])
        return content

    def _place(self, name: object, tensor: "_Tensor") -> Place:
        """Sizes and steps come from a file that anyone may have written: numpy would follow them anywhere."""
        start, end = self._storages.get(tensor.key, (0, 0))
        width = SIZES[tensor.kind]
        values = (min(end, self._path.stat().st_size) - start) // width
        size, strides = tuple(tensor.size), tuple(tensor.strides)
        numbers = (tensor.offset, *size, *strides)
        sound = len(size) == len(strides) and all(
            type(number) is int and number >= 0 for number in numbers
        )
        last = (
            sum((count - 1) * step for count, step in zip(size, strides, strict=True))
            if sound
            else 0
        )
        if not sound or 0 in size or tensor.offset + last >= values or math.prod(size) > values:
            raise TensorError(f"{self._path} places the tensor {name} outside of its storage.")
        first = start + tensor.offset * width
        return Place(tensor.kind, first, first + (last + 1) * width, size, strides)

    def __getitem__(self, name: str) -> Array:
        place = self._tensors[name]
        with self._path.open("rb") as file:
            file.seek(place.start)
            values = widen(file.read(place.end - place.start), place.kind)
        strides = [step * values.itemsize for step in place.strides]
        return np.ascontiguousarray(
            np.lib.stride_tricks.as_strided(values, place.size, strides)
        ).reshape(place.size)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


class _Tensor:
    """Where a tensor says it lies: the arguments of torch._utils._rebuild_tensor_v2."""

    def __init__(
        self,
        storage: tuple[str, str],
        offset: int,
        size: tuple[int, ...],
        strides: tuple[int, ...],
        *_: object,
    ) -> None:
        (self.kind, self.key), self.offset, self.size, self.strides = storage, offset, size, strides


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, path: Path) -> None:
        super().__init__(file)
        self._path = path
        self.kinds: dict[str, str] = {}  # of the storages met, by key

    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _Tensor
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return _first
        if module == "torch" and name in STORAGES:
            return type(name, (), {"kind": STORAGES[name]})
        raise TensorError(
            f"{self._path} asks to run {module}.{name}, which no plain checkpoint does; it was not run."
        )

    def persistent_load(self, pid: Any) -> tuple[str, str]:
        self.kinds[pid[2]] = pid[1].kind
        return pid[1].kind, pid[2]


def _first(value: object, *_: object) -> object:
    return value


def _dictionary(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value
