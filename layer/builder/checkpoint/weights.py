"""The weights of a checkpoint folder: safetensors or torch's format, in one file or in shards.

Finds files; tensors.py and torch_file.py read them.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.tensors import Array, SafetensorsFile
from builder.checkpoint.torch_file import TorchFile

FORMATS: Final = (("model.safetensors", SafetensorsFile), ("pytorch_model.bin", TorchFile))
FOREIGN: Final = ("*.ckpt*", "tf_model*.h5", "flax_model*.msgpack")  # of TensorFlow and JAX
POINTER: Final = b"version https://git-lfs.github.com/spec/"  # begins what stands for a big file


def open_folder(folder: Path) -> Mapping[str, Array]:
    """The tensors of a folder; raises CheckpointError where it holds none in a known format."""
    for name, open_file in FORMATS:
        path, index = folder / name, folder / f"{name}.index.json"
        if path.exists():
            return open_file(_present(path))
        if index.exists():
            return Shards([open_file(_present(shard)) for shard in _shards(index)])

    for pattern in FOREIGN:
        if found := sorted(folder.glob(pattern)):
            raise CheckpointError(
                f"{found[0]} is not of PyTorch: load it with transformers (from_tf=True or "
                "from_flax=True in version 4), and build what save_pretrained writes."
            )
    names = " nor ".join(name for name, _ in FORMATS)
    raise CheckpointError(f"{folder} holds neither {names}.")


class Shards(Mapping[str, Array]):
    """Several files that together hold one checkpoint."""

    def __init__(self, shards: list[Mapping[str, Array]]) -> None:
        self._holders = {name: shard for shard in shards for name in shard}

    def __getitem__(self, name: str) -> Array:
        return self._holders[name][name]

    def __contains__(self, name: object) -> bool:
        return name in self._holders  # without reading the tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._holders)

    def __len__(self) -> int:
        return len(self._holders)


def _shards(index: Path) -> list[Path]:
    """The files that an index names, all of them beside it."""
    try:
        content: Any = json.loads(index.read_text(encoding="utf-8"))
        names = sorted(set(content["weight_map"].values()))
        beside = all(Path(name).name == name for name in names)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        names, beside = [], False

    if not names or not beside:
        raise CheckpointError(f"{index} does not say which file holds which tensor (weight_map).")
    for name in names:
        if not (index.parent / name).is_file():
            raise CheckpointError(f"{index} names the file {name}, which is not there.")
    return [index.parent / name for name in names]


def _present(path: Path) -> Path:
    with path.open("rb") as file:
        if file.read(len(POINTER)) == POINTER:
            raise CheckpointError(
                f"{path} is a Git LFS pointer, not the weights: run git lfs pull."
            )
    return path
