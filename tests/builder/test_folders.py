"""What people have in their folders: the classic files, wrapped names, whole numbers in a .bin."""

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from builder.model.__main__ import main
from fillmask.model import manifest
from support.checkpoint_forms import rename, torch_legacy, torch_zip

pytestmark = pytest.mark.usefixtures("few_sentences")


def built(source: Path) -> bytes:
    """The graph, weights and tokenizer that the builder makes of a folder."""
    out = source.parent / "out"
    assert main([str(source), "--out", str(out), "--force", "--name", "small"]) == 0
    return b"".join((out / name).read_bytes() for name in manifest.FILES)


@pytest.mark.parametrize("wrapper", ["_orig_mod.", "module.", "model.", "module._orig_mod."])
def test_the_names_that_wrappers_begin_with_are_taken_off(source: Path, wrapper: str) -> None:
    expected = built(source)
    rename(source, lambda name: wrapper + name)
    assert built(source) == expected


def test_the_classic_three_files_are_read(source: Path) -> None:
    expected = built(source)
    (source / "config.json").rename(source / "bert_config.json")
    (source / "tokenizer_config.json").unlink()
    torch_zip(source)
    assert built(source) == expected


@pytest.mark.parametrize("key", ["model", "state_dict", "model_state_dict"])
def test_tensors_inside_of_what_a_training_script_saved_are_found(source: Path, key: str) -> None:
    expected = built(source)
    torch_legacy(source)
    path = source / "pytorch_model.bin"
    start, end = b"\x80\x02ccollections\nOrderedDict\n)R(", b"u."
    content = path.read_bytes()
    wrapped = b"\x80\x02}(X" + len(key).to_bytes(4, "little") + key.encode() + start[2:]
    first, rest = content.split(start, 1)
    keys = rest.index(pickle.dumps([str(number) for number in range(3)], protocol=2)[:6])
    assert rest[:keys].endswith(end)
    path.write_bytes(first + wrapped + rest[: keys - 1] + b"u." + rest[keys:])
    assert built(source) == expected


@pytest.mark.parametrize("kind", ["Bool", "Byte", "Char", "Short", "Int"])
def test_whole_numbers_in_a_torch_file_are_data(source: Path, kind: str) -> None:
    expected = built(source)
    path = source / "model.safetensors"
    tensors = load_file(path)
    width = {"Bool": 1, "Byte": 1, "Char": 1, "Short": 2, "Int": 4}[kind]
    save_file(tensors | {"bert.pooler.mask": np.zeros(2 * width, np.float32)}, path)
    torch_zip(source)

    file = source / "pytorch_model.bin"
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    before, after = members["archive/data.pkl"].split(b"bert.pooler.mask")
    after = after.replace(b"FloatStorage", kind.encode() + b"Storage", 1)
    members["archive/data.pkl"] = before + b"bert.pooler.mask" + after
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert built(source) == expected
