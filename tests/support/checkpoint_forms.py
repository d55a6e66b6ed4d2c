"""The forms a checkpoint comes in and the faults it has: changes of a folder of checkpoints.py."""

import json
import pickle
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy.typing as npt
from safetensors.numpy import load_file, save_file

Array = npt.NDArray[Any]
Change = Callable[[Path], object]  # of a checkpoint's folder

WORDS: Final = "bert.embeddings.word_embeddings.weight"
POSITIONS: Final = "bert.embeddings.position_embeddings.weight"
DECODER: Final = "cls.predictions.decoder.weight"
LEGACY_MAGIC: Final = 0x1950A86A20F9469CFC6C
LEGACY_VERSION: Final = 1001


class Claim(NamedTuple):
    """Where a tensor says it lies in its storage; offset and strides count values."""

    offset: int
    size: tuple[int, ...]
    strides: tuple[int, ...]


# Names and layouts that mean the same


def modern_names(folder: Path) -> None:
    """As transformers writes them today, and without `bert.`."""
    rename(
        folder,
        lambda name: name.replace("gamma", "weight").replace("beta", "bias").removeprefix("bert."),
    )


def decoder_bias(folder: Path) -> None:
    """The head's bias by its other name."""
    rename(folder, lambda name: name.replace("predictions.bias", "predictions.decoder.bias"))


def untouched_decoder(folder: Path) -> None:
    """A copy of the word embeddings as the decoder."""
    tensors = load_file(folder / "model.safetensors")
    tensors[DECODER] = tensors[WORDS].copy()
    save_file(tensors, folder / "model.safetensors")


def leftover_decoder(folder: Path) -> None:
    """A decoder that differs, in a checkpoint that ties it to the embeddings."""
    tensors = load_file(folder / "model.safetensors")
    tensors[DECODER] = -tensors[WORDS]
    save_file(tensors, folder / "model.safetensors")


def shards(folder: Path) -> None:
    """Two files and an index."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()

    weight_map = {
        name: f"model-0000{number % 2 + 1}-of-00002.safetensors"
        for number, name in enumerate(sorted(tensors))
    }
    for shard in set(weight_map.values()):
        held = {name: tensors[name] for name in weight_map if weight_map[name] == shard}
        save_file(held, folder / shard)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}))


def tokenizer_json(folder: Path) -> None:
    """A tokenizer.json instead of vocab.txt."""
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    (folder / "vocab.txt").unlink()

    ids = {token: index for index, token in enumerate(lines)}
    content = {
        "model": {"type": "WordPiece", "vocab": ids},
        "added_tokens": [{"id": 4, "content": "[MASK]"}],
    }
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")


def torch_zip(folder: Path, claim: Claim | None = None) -> None:
    """pytorch_model.bin as torch >= 1.6 writes it."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()

    with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
        archive.writestr("archive/data.pkl", _state_dict(tensors, b"tQ", claim))
        for number, tensor in enumerate(tensors.values()):
            archive.writestr(f"archive/data/{number}", tensor.tobytes())


def torch_legacy(folder: Path, claim: Claim | None = None) -> None:
    """pytorch_model.bin as torch wrote it before, and as many checkpoints still are."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()

    with (folder / "pytorch_model.bin").open("wb") as file:
        for value in (LEGACY_MAGIC, LEGACY_VERSION, {"little_endian": True}):
            file.write(pickle.dumps(value, protocol=2))
        file.write(_state_dict(tensors, b"NtQ", claim))
        file.write(pickle.dumps([str(number) for number in range(len(tensors))], protocol=2))
        for tensor in tensors.values():
            file.write(tensor.size.to_bytes(8, "little") + tensor.tobytes())


# Changes of one thing


def rename(folder: Path, change: Callable[[str], str]) -> None:
    """Changes the names of all tensors."""
    tensors = load_file(folder / "model.safetensors")
    renamed = {change(name): tensor for name, tensor in tensors.items()}
    save_file(renamed, folder / "model.safetensors")


def tensor(folder: Path, name: str, change: Callable[[Array], Array]) -> None:
    """Changes one tensor."""
    tensors = load_file(folder / "model.safetensors")
    tensors[name] = change(tensors[name])
    save_file(tensors, folder / "model.safetensors")


def without(folder: Path, start: str) -> None:
    """Drops the tensors whose names begin so."""
    tensors = load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in tensors.items() if not name.startswith(start)}
    save_file(kept, folder / "model.safetensors")


def config(folder: Path, **values: Any) -> None:
    """Sets members of config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def positions(folder: Path, count: int) -> None:
    """Leaves the first positions."""
    config(folder, max_position_embeddings=count)
    tensor(folder, POSITIONS, lambda value: value[:count].copy())


def vocabulary(folder: Path, change: Callable[[list[str]], list[str]]) -> None:
    """Changes the lines of vocab.txt; the last one is empty."""
    path = folder / "vocab.txt"
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join(change(lines)), encoding="utf-8")


# Pickles as torch writes them, by hand


def _state_dict(tensors: dict[str, Array], storage_end: bytes, claim: Claim | None) -> bytes:
    """A dictionary of tensors by reference to storages, in protocol 2.

    Each tensor fills a storage of its own, or all claim to lie where they are told to.
    """
    body = [b"\x80\x02ccollections\nOrderedDict\n)R("]
    for number, (name, tensor) in enumerate(tensors.items()):
        strides = tuple(stride // tensor.itemsize for stride in tensor.strides)
        body += [
            _text(name),
            b"ctorch._utils\n_rebuild_tensor_v2\n(",
            *_storage(number, tensor, storage_end),
            *_location(claim or Claim(0, tensor.shape, strides)),
            b"\x89ccollections\nOrderedDict\n)RtR",
        ]
    return b"".join([*body, b"u."])


def _storage(number: int, tensor: Array, end: bytes) -> list[bytes]:
    kind = b"ctorch\nFloatStorage\n"
    return [b"(", _text("storage"), kind, _text(str(number)), _text("cpu"), _int(tensor.size), end]


def _location(claim: Claim) -> list[bytes]:
    return [_int(claim.offset), *_tuple(claim.size), *_tuple(claim.strides)]


def _text(value: str) -> bytes:
    return b"X" + len(value).to_bytes(4, "little") + value.encode()


def _int(value: int) -> bytes:
    return b"J" + value.to_bytes(4, "little", signed=True)


def _tuple(values: Iterable[int]) -> list[bytes]:
    return [b"(", *map(_int, values), b"t"]
