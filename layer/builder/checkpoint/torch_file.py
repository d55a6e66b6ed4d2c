"""The tensors of one pytorch_model.bin, without torch.

Both of torch's formats are read: the zip file of torch >= 1.6, and the one before it. Where a
tensor lies is checked against the file before numpy looks there.
"""

import io
import math
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import numpy as np

from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.tensors import Array, widen
from builder.checkpoint.torch_pickle import (
    WIDTHS,
    TensorReference,
    TorchUnpickler,
    load_dictionary,
)

LEGACY_MAGIC: Final = 0x1950A86A20F9469CFC6C
# Keys under which training scripts put the tensors, beside their optimisers.
WRAPPED: Final = ("state_dict", "model_state_dict", "model")
ZIP_LENGTHS: Final = 26  # where a member's header in a zip file says how long its ends are
ZIP_HEADER: Final = 30  # bytes of that header before its two ends, a name and an extra field


class Extent(NamedTuple):
    """The bytes of a storage in the file: the first one, and the one after the last."""

    start: int
    end: int


class Location(NamedTuple):
    """Where a tensor lies in the file; its strides count values."""

    kind: str
    extent: Extent
    size: tuple[int, ...]
    strides: tuple[int, ...]


class Contents(NamedTuple):
    """What a file holds: its unpickled dictionary, and its storages by key."""

    pickled: dict[Any, Any]
    storages: dict[str, Extent]


class TorchFile(Mapping[str, Array]):
    """One pytorch_model.bin; a tensor's bytes are read when it is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            contents = _read(path)
            inside = next((key for key in WRAPPED if key in contents.pickled), None)
            named = contents.pickled[inside] if inside else contents.pickled
            self._locations = {
                name: self._locate(name, reference, contents.storages)
                for name, reference in named.items()
                if isinstance(name, str) and isinstance(reference, TensorReference)
            }
        except CheckpointError:
            raise
        except Exception as error:  # bytes that are no pickle of torch's can raise anything
            raise CheckpointError(f"{path} is not a file of torch's.") from error

    def _locate(
        self, name: str, reference: TensorReference, storages: Mapping[str, Extent]
    ) -> Location:
        """Sizes and strides may have been written by anyone: numpy would follow them anywhere."""
        extent = storages.get(reference.storage.key, Extent(0, 0))
        width = WIDTHS[reference.storage.kind]
        values = (min(extent.end, self._path.stat().st_size) - extent.start) // width

        last = _last_value(reference)
        if last is None or last >= values or math.prod(reference.size) > values:
            raise CheckpointError(
                f"{self._path} says that the tensor {name} lies outside of its storage."
            )

        bytes_ = Extent(extent.start + reference.offset * width, extent.start + (last + 1) * width)
        return Location(reference.storage.kind, bytes_, reference.size, reference.strides)

    def __getitem__(self, name: str) -> Array:
        location = self._locations[name]
        start, end = location.extent
        with self._path.open("rb") as file:
            file.seek(start)
            values = widen(file.read(end - start), location.kind)

        strides = [stride * values.itemsize for stride in location.strides]
        tensor = np.lib.stride_tricks.as_strided(values, location.size, strides)
        return np.ascontiguousarray(tensor).reshape(location.size)

    def __contains__(self, name: object) -> bool:
        return name in self._locations  # without reading the tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._locations)

    def __len__(self) -> int:
        return len(self._locations)


def _last_value(reference: TensorReference) -> int | None:
    """Which value of its storage is a tensor's last one; None where its numbers make no sense."""
    size, strides = reference.size, reference.strides
    numbers = (reference.offset, *size, *strides)
    if not all(type(number) is int and number >= 0 for number in numbers):
        return None
    if len(size) != len(strides) or 0 in size:
        return None
    steps = zip(size, strides, strict=True)
    return reference.offset + sum((count - 1) * stride for count, stride in steps)


def _read(path: Path) -> Contents:
    with path.open("rb") as file:
        return _read_zip(file, path) if zipfile.is_zipfile(file) else _read_legacy(file, path)


def _read_zip(file: IO[bytes], path: Path) -> Contents:
    """The format of torch >= 1.6: data.pkl, and a member for each storage."""
    archive = zipfile.ZipFile(file)
    pickle_name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
    folder = pickle_name.removesuffix("data.pkl") + "data/"

    storages = {
        member.filename.removeprefix(folder): _member_extent(file, member)
        for member in archive.infolist()
        if member.filename.startswith(folder) and member.compress_type == zipfile.ZIP_STORED
    }
    unpickler = TorchUnpickler(io.BytesIO(archive.read(pickle_name)), path)
    return Contents(load_dictionary(unpickler), storages)


def _member_extent(file: IO[bytes], member: zipfile.ZipInfo) -> Extent:
    """Where the bytes of a member lie that is stored as it is."""
    file.seek(member.header_offset + ZIP_LENGTHS)
    name_length, extra_length = struct.unpack("<HH", file.read(4))
    start = member.header_offset + ZIP_HEADER + name_length + extra_length
    return Extent(start, start + member.file_size)


def _read_legacy(file: IO[bytes], path: Path) -> Contents:
    """The format before: five pickles, then each storage as its number of values and the values.

    The pickles are magic number, version, machine, dictionary, and the storages' keys in order.
    """
    file.seek(0)
    if TorchUnpickler(file, path).load() != LEGACY_MAGIC:
        raise ValueError
    for _ in ("version", "machine"):
        TorchUnpickler(file, path).load()

    unpickler = TorchUnpickler(file, path)
    pickled = load_dictionary(unpickler)

    storages = {}
    for key in TorchUnpickler(file, path).load():
        values = int.from_bytes(file.read(8), "little")
        start = file.tell()
        storages[key] = Extent(start, start + values * WIDTHS[unpickler.storages[key].kind])
        file.seek(storages[key].end)
    return Contents(pickled, storages)
