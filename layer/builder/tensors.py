"""Tensors of a checkpoint folder as a lazy mapping name -> numpy array, without torch.

pytorch_model.bin, in the zip format of torch >= 1.6 or the one before, is read by an unpickler that knows a few
harmless names and refuses every other, so no pickled code runs.
"""

import io
import json
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

Array = npt.NDArray[Any]
STORAGES = {"FloatStorage": "<f4", "HalfStorage": "<f2", "BFloat16Storage": "bf16", "DoubleStorage": "<f8",
            "LongStorage": "<i8"}
SIZES = {"<f4": 4, "<f2": 2, "bf16": 2, "<f8": 8, "<i8": 8}  # bytes of a value
LEGACY_MAGIC = 0x1950A86A20F9469CFC6C


class TensorError(Exception):
    """The weights cannot be read; one sentence says why."""


def open_folder(folder: Path) -> Mapping[str, Array] | None:
    """The tensors of a folder, or None when it holds no weights in a known format."""
    for name, reader in (("model.safetensors", Safetensors), ("pytorch_model.bin", Torch)):
        if (folder / name).exists():
            return reader(folder / name)
        index = folder / f"{name}.index.json"
        if index.exists():
            shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
            return Shards([reader(folder / shard) for shard in shards])
    return None


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
        except Exception as error:  # the library raises its own untyped error for every malformed file
            raise TensorError(f"{path} is not a readable safetensors file: {error}.") from error
        self._path, self._names = path, list(self._file.keys())  # type: ignore[no-untyped-call]

    def __getitem__(self, name: str) -> Array:
        if self._file.get_slice(name).get_dtype() == "BF16":  # type: ignore[no-untyped-call]
            return self._bfloat16(name)
        return np.asarray(self._file.get_tensor(name))  # type: ignore[no-untyped-call]

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


class Shards(Mapping[str, Array]):
    """Several files that together hold one checkpoint."""

    def __init__(self, parts: list[Mapping[str, Array]]) -> None:
        self._where = {name: part for part in parts for name in part}

    def __getitem__(self, name: str) -> Array:
        return self._where[name][name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)


class Torch(Mapping[str, Array]):
    """One pytorch_model.bin; a tensor's bytes are read when it is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[str, int] = {}  # where each storage's bytes begin
        with path.open("rb") as file:
            content = self._zipped(file) if zipfile.is_zipfile(file) else self._legacy(file)
        content = content.get("state_dict", content)
        self._tensors: dict[str, _Tensor] = {k: v for k, v in content.items() if isinstance(v, _Tensor)}

    def _zipped(self, file: BinaryIO) -> dict[str, Any]:
        """The format of torch >= 1.6: a zip file whose members are stored as they are."""
        archive = zipfile.ZipFile(file)
        pickled = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
        root = pickled.removesuffix("data.pkl") + "data/"
        for member in archive.infolist():
            if member.filename.startswith(root):
                file.seek(member.header_offset + 26)  # a local header: 30 bytes, then a name and an extra field
                name, extra = struct.unpack("<HH", file.read(4))
                self._places[member.filename.removeprefix(root)] = member.header_offset + 30 + name + extra
        return dict(_Unpickler(io.BytesIO(archive.read(pickled)), self._path).load())

    def _legacy(self, file: BinaryIO) -> dict[str, Any]:
        """The format before: five pickles (magic, version, machine, content, order of the storages), then each
        storage as its number of values and the values."""
        try:
            file.seek(0)
            if _Unpickler(file, self._path).load() != LEGACY_MAGIC:
                raise ValueError
            _, _ = (_Unpickler(file, self._path).load() for _ in range(2))
            unpickler = _Unpickler(file, self._path)
            content = dict(unpickler.load())
            for key in _Unpickler(file, self._path).load():
                values = int.from_bytes(file.read(8), "little")
                self._places[key] = file.tell()
                file.seek(values * SIZES[unpickler.kinds[key]], io.SEEK_CUR)
        except (ValueError, EOFError, KeyError, pickle.UnpicklingError):
            raise TensorError(f"{self._path} is not a file of torch's.") from None
        return content

    def __getitem__(self, name: str) -> Array:
        tensor = self._tensors[name]
        last = sum((size - 1) * step for size, step in zip(tensor.size, tensor.strides, strict=True))
        with self._path.open("rb") as file:
            file.seek(self._places[tensor.key] + tensor.offset * SIZES[tensor.kind])
            values = widen(file.read((last + 1) * SIZES[tensor.kind]), tensor.kind)
        strides = [step * values.itemsize for step in tensor.strides]
        return np.ascontiguousarray(np.lib.stride_tricks.as_strided(values, tensor.size, strides))

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


class _Tensor:
    """Where a tensor lies: the arguments of torch._utils._rebuild_tensor_v2."""

    def __init__(self, storage: tuple[str, str], offset: int, size: tuple[int, ...], strides: tuple[int, ...],
                 *_: object) -> None:
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
        raise TensorError(f"{self._path} asks to run {module}.{name}, which no plain checkpoint does; it was not run.")

    def persistent_load(self, pid: Any) -> tuple[str, str]:
        self.kinds[pid[2]] = pid[1].kind
        return pid[1].kind, pid[2]


def _first(value: object, *_: object) -> object:
    return value
