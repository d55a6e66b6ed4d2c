"""Tensors of a checkpoint folder as a lazy mapping name -> numpy array, without torch.

pytorch_model.bin (the zip format of torch >= 1.6) is read by an unpickler that knows six harmless names and
refuses every other, so no pickled code runs. The older tar-like format needs torch itself to convert.
"""

import io
import json
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

Array = npt.NDArray[Any]
STORAGES = {"FloatStorage": "<f4", "HalfStorage": "<f2", "BFloat16Storage": "bf16", "DoubleStorage": "<f8",
            "LongStorage": "<i8"}


class TensorError(Exception):
    """The weights cannot be read; one sentence says why."""


def open_folder(folder: Path) -> Mapping[str, Array] | None:
    """The tensors of a folder, or None when it holds no weights in a known format."""
    for name, reader in (("model.safetensors", Safetensors), ("pytorch_model.bin", TorchZip)):
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


class TorchZip(Mapping[str, Array]):
    """One pytorch_model.bin in torch's zip format; a tensor's bytes are read when it is asked for."""

    def __init__(self, path: Path) -> None:
        if not zipfile.is_zipfile(path):
            raise TensorError(
                f"{path} is in torch's format from before 1.6: load it with torch and save it as safetensors.")
        self._zip = zipfile.ZipFile(path)
        pickled = next(name for name in self._zip.namelist() if name.endswith("/data.pkl"))
        self._root = pickled.removesuffix("data.pkl")
        content = _Unpickler(io.BytesIO(self._zip.read(pickled)), path).load()
        content = content.get("state_dict", content)
        self._tensors: dict[str, _Tensor] = {k: v for k, v in content.items() if isinstance(v, _Tensor)}

    def __getitem__(self, name: str) -> Array:
        tensor = self._tensors[name]
        values = widen(self._zip.read(f"{self._root}data/{tensor.key}"), tensor.kind)
        strides = [step * values.itemsize for step in tensor.strides]
        view = np.lib.stride_tricks.as_strided(values[tensor.offset:], tensor.size, strides)
        return np.ascontiguousarray(view)

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
    def __init__(self, file: io.BytesIO, path: Path) -> None:
        super().__init__(file)
        self._path = path

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

    def persistent_load(self, pid: tuple[str, Any, str, str, int]) -> tuple[str, str]:
        return pid[1].kind, pid[2]


def _first(value: object, *_: object) -> object:
    return value
