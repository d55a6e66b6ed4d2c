"""The forms a checkpoint comes in and the faults it has, as changes to a folder of checkpoints.py."""

import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file, save_file

Place = tuple[int, Any, Any]  # offset, sizes and steps of a tensor in its storage


def rename(folder: Path, change: Callable[[str], str]) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file(
        {change(name): tensor for name, tensor in tensors.items()}, folder / "model.safetensors"
    )


def modern_names(folder: Path) -> None:
    rename(
        folder,
        lambda name: name.replace("gamma", "weight").replace("beta", "bias").removeprefix("bert."),
    )


def shards(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    names = sorted(tensors)
    weight_map = {
        name: f"model-0000{i % 2 + 1}-of-00002.safetensors" for i, name in enumerate(names)
    }
    for shard in set(weight_map.values()):
        save_file(
            {name: tensors[name] for name in names if weight_map[name] == shard}, folder / shard
        )
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    (folder / "model.safetensors").unlink()


def state_dict(tensors: dict[str, Any], storage_end: bytes, place: Place | None = None) -> bytes:
    """The pickle of a state dict as torch writes it, by hand: protocol 2, tensors by reference to storages; each
    at its own place, or all at the one given."""
    body = [b"\x80\x02ccollections\nOrderedDict\n)R("]
    for number, (name, tensor) in enumerate(tensors.items()):
        body += [text(name), b"ctorch._utils\n_rebuild_tensor_v2\n(("]
        body += [text("storage"), b"ctorch\nFloatStorage\n", text(str(number)), text("cpu")]
        body += [number_of(tensor.size), storage_end]
        strides = [step // tensor.itemsize for step in tensor.strides]
        offset, size, strides = place or (0, tensor.shape, strides)
        body += [
            number_of(offset),
            *tuple_of(size),
            *tuple_of(strides),
            b"\x89ccollections\nOrderedDict\n)RtR",
        ]
    return b"".join([*body, b"u."])


def torch_zip(folder: Path, place: Place | None = None) -> None:
    """pytorch_model.bin as torch >= 1.6 writes it."""
    tensors = load_file(folder / "model.safetensors")
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
        archive.writestr("archive/data.pkl", state_dict(tensors, b"tQ", place))
        for number, tensor in enumerate(tensors.values()):
            archive.writestr(f"archive/data/{number}", tensor.tobytes())
    (folder / "model.safetensors").unlink()


def torch_legacy(folder: Path, place: Place | None = None) -> None:
    """pytorch_model.bin as torch wrote it before, and many checkpoints still are."""
    tensors = load_file(folder / "model.safetensors")
    with (folder / "pytorch_model.bin").open("wb") as file:
        for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
            file.write(pickle.dumps(value, protocol=2))
        file.write(state_dict(tensors, b"NtQ", place))
        file.write(pickle.dumps([str(number) for number in range(len(tensors))], protocol=2))
        for tensor in tensors.values():
            file.write(tensor.size.to_bytes(8, "little") + tensor.tobytes())
    (folder / "model.safetensors").unlink()


def text(value: str) -> bytes:
    return b"X" + len(value).to_bytes(4, "little") + value.encode()


def number_of(value: int) -> bytes:
    return b"J" + value.to_bytes(4, "little", signed=True)


def tuple_of(values: Any) -> list[bytes]:
    return [b"(", *map(number_of, values), b"t"]


def untouched_decoder(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors["cls.predictions.decoder.weight"] = tensors[
        "bert.embeddings.word_embeddings.weight"
    ].copy()
    save_file(tensors, folder / "model.safetensors")


def decoder_bias(folder: Path) -> None:
    rename(folder, lambda name: name.replace("predictions.bias", "predictions.decoder.bias"))


def leftover_decoder(folder: Path) -> None:
    """A decoder that differs, in a checkpoint that ties it to the embeddings."""
    tensors = load_file(folder / "model.safetensors")
    tensors["cls.predictions.decoder.weight"] = -tensors["bert.embeddings.word_embeddings.weight"]
    save_file(tensors, folder / "model.safetensors")


def tokenizer_json(folder: Path) -> None:
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    content = {
        "model": {
            "type": "WordPiece",
            "vocab": {token: index for index, token in enumerate(lines)},
        },
        "added_tokens": [{"id": 4, "content": "[MASK]"}],
    }
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "vocab.txt").unlink()


def config(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def without(folder: Path, start: str) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file(
        {name: tensor for name, tensor in tensors.items() if not name.startswith(start)},
        folder / "model.safetensors",
    )


def vocabulary(folder: Path, change: Callable[[list[str]], list[str]]) -> None:
    path = folder / "vocab.txt"
    path.write_text(
        "\n".join(change(path.read_text(encoding="utf-8").split("\n"))), encoding="utf-8"
    )


def tensor(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Change one tensor."""
    tensors = load_file(folder / "model.safetensors")
    tensors[name] = change(tensors[name])
    save_file(tensors, folder / "model.safetensors")
