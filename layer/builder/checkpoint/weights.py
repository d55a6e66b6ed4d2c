"""The weights of a checkpoint folder, in whichever of four forms they lie there: safetensors or torch's format, in
one file or in shards behind an index. It finds files; tensors.py and torch_file.py read them.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from builder.checkpoint.tensors import Array, Safetensors, TensorError
from builder.checkpoint.torch_file import Torch

POINTER = b"version https://git-lfs.github.com/spec/"  # begins the file that Git holds in place of a big one


def open_folder(folder: Path) -> Mapping[str, Array] | None:
    """The tensors of a folder, or None when it holds no weights in a known format."""
    for name, reader in (("model.safetensors", Safetensors), ("pytorch_model.bin", Torch)):
        if (folder / name).exists():
            return reader(_present(folder / name))
        index = folder / f"{name}.index.json"
        if index.exists():
            return Shards([reader(_present(path)) for path in _shards(index)])
    return None


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


def _shards(index: Path) -> list[Path]:
    try:
        content: Any = json.loads(index.read_text(encoding="utf-8"))
        names = sorted(set(content["weight_map"].values()))
        if not names or any(Path(name).name != name for name in names):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise TensorError(
            f"{index} does not say which file holds which tensor (weight_map)."
        ) from None
    for name in names:
        if not (index.parent / name).is_file():
            raise TensorError(f"{index} names the file {name}, which is not there.")
    return [index.parent / name for name in names]


def _present(path: Path) -> Path:
    with path.open("rb") as file:
        if file.read(len(POINTER)) == POINTER:
            raise TensorError(f"{path} is a Git LFS pointer, not the weights: run git lfs pull.")
    return path
