"""The pickles in torch's files, read by an unpickler that knows a few harmless names.

Every other name is refused, so no pickled code runs. What comes out may still be anything:
torch_file.py checks it.
"""

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.tensors import BFLOAT16

KINDS: Final = {  # of a storage's values, as widen() takes them
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": BFLOAT16,
    "DoubleStorage": "<f8",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "|i1",
    "ByteStorage": "|u1",
    "BoolStorage": "|b1",
}
WIDTHS: Final = {kind: 2 if kind == BFLOAT16 else int(kind[2:]) for kind in KINDS.values()}  # bytes


class Storage(NamedTuple):
    """A block of values that tensors lie in, by the key that the file gives it."""

    kind: str
    key: str


class TensorReference(NamedTuple):
    """Where a tensor says it lies in its storage; offset and strides count values."""

    storage: Storage
    offset: int
    size: tuple[int, ...]
    strides: tuple[int, ...]


class TorchUnpickler(pickle.Unpickler):
    """Reads one pickle of a file; `storages` are those it met, by key."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        super().__init__(file)
        self._path = path
        self.storages: dict[str, Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        """What a name stands for; raises CheckpointError for one that plain tensors do not need."""
        known = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
            ("torch._utils", "_rebuild_parameter"): _first,
        }
        if (module, name) in known:
            return known[module, name]
        if module == "torch" and name in KINDS:
            return KINDS[name]

        raise CheckpointError(
            f"{self._path} asks to run {module}.{name}, which no plain checkpoint does; "
            "it was not run."
        )

    def persistent_load(self, pid: Any) -> Storage:
        """The storage that ("storage", type, key, device, values) stands for."""
        storage = Storage(pid[1], pid[2])
        self.storages[storage.key] = storage
        return storage


def load_dictionary(unpickler: TorchUnpickler) -> dict[Any, Any]:
    """The dictionary in a pickle; raises TypeError where it is something else."""
    value = unpickler.load()
    if not isinstance(value, dict):
        raise TypeError
    return value


def _tensor(
    storage: Storage,
    offset: int,
    size: tuple[int, ...],
    strides: tuple[int, ...],
    *_: object,
) -> TensorReference:
    return TensorReference(storage, offset, tuple(size), tuple(strides))


def _first(value: object, *_: object) -> object:
    return value
