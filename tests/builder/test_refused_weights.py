"""Weights that cannot be read: one sentence, nothing left behind, and no pickled code run."""

import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from support.checkpoint_forms import Change, Claim, torch_legacy, torch_zip

pytestmark = pytest.mark.usefixtures("few_sentences")

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 99\n"


def safetensors(content: bytes) -> Change:
    """These bytes as model.safetensors."""
    return lambda folder: (folder / "model.safetensors").write_bytes(content)


def left_with(name: str) -> Change:
    """A file of another library instead of model.safetensors."""
    return lambda folder: (folder / "model.safetensors").rename(folder / name)


def torch_file(content: bytes) -> Change:
    """These bytes as pytorch_model.bin, without any other weights."""

    def change(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / "pytorch_model.bin").write_bytes(content)

    return change


def zipped(**members: bytes) -> Change:
    """A zip file of these members as pytorch_model.bin, without any other weights."""

    def change(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
            for name, content in members.items():
                archive.writestr(f"archive/{name}.pkl", content)

    return change


def index(content: str) -> Change:
    """This text as the index of shards, without any other weights."""

    def change(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors.index.json").write_text(content)

    return change


def touch(folder: Path) -> bytes:
    """A pickle that runs a command when it is loaded."""
    return b"cos\nsystem\n(S'touch " + str(folder / "ran").encode() + b"'\ntR."


def evil(folder: Path) -> None:
    zipped(data=touch(folder))(folder)


def old_evil(folder: Path) -> None:
    torch_file(touch(folder))(folder)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda folder: (folder / "model.safetensors").unlink(), "neither model.safetensors nor"),
        (left_with("bert_model.ckpt.index"), "bert_model.ckpt.index is not of PyTorch"),
        (left_with("tf_model.h5"), "tf_model.h5 is not of PyTorch"),
        (safetensors(b"x" * 99), "not a readable safetensors file"),
        (safetensors(POINTER), "is a Git LFS pointer"),
        (torch_file(POINTER), "is a Git LFS pointer, not the weights: run git lfs pull."),
        (evil, "os.system"),
        (old_evil, "os.system"),
        (torch_file(pickle.dumps({})), "not a file of torch's"),
        (torch_file(b""), "not a file of torch's"),
        (torch_file(b"\x80\x02garbage"), "not a file of torch's"),
        (torch_file(b"PK\x05\x06" + bytes(18)), "not a file of torch's"),
        (zipped(version=b"3"), "not a file of torch's"),
        (zipped(data=pickle.dumps([1, 2])), "not a file of torch's"),
        (zipped(data=pickle.dumps({"state_dict": 1})), "not a file of torch's"),
        (zipped(data=b"\x80\x02(U\x07storageK\x01tQ."), "not a file of torch's"),
        (index("{}"), "does not say which file"),
        (index('{"weight_map": {"a": 1}}'), "does not say which file"),
        (index('{"weight_map": {"a": "../source/config.json"}}'), "does not say which file"),
        (
            index('{"weight_map": {"a": "model-1.safetensors"}}'),
            "names the file model-1.safetensors, which is not there",
        ),
    ],
)
def test_weights_that_cannot_be_read_are_one_sentence(
    source: Path, refused: Callable[[Path], str], change: Change, says: str
) -> None:
    change(source)
    assert says in refused(source)
    assert not (source / "ran").exists()


@pytest.mark.parametrize("form", [torch_zip, torch_legacy])
@pytest.mark.parametrize(
    "claim",
    [
        Claim(0, (1 << 30, 2), (0, 0)),
        Claim(0, (201, 64), (64, 1)),
        Claim(1, (200, 64), (64, 1)),
        Claim(-1, (2,), (1,)),
        Claim(0, (2,), (-1,)),
        Claim(0, (-2,), (1,)),
        Claim(0, (2,), (1, 1)),
        Claim(0, (64,), (1 << 30,)),
        Claim(0, (0,), (1,)),
    ],
)
def test_a_tensor_outside_of_its_storage_is_refused(
    source: Path,
    refused: Callable[[Path], str],
    form: Callable[[Path, Claim], None],
    claim: Claim,
) -> None:
    form(source, claim)
    assert "outside of its storage" in refused(source)


def test_a_file_that_ends_early_is_refused(source: Path, refused: Callable[[Path], str]) -> None:
    torch_legacy(source)
    path = source / "pytorch_model.bin"
    path.write_bytes(path.read_bytes()[:-4])
    assert "outside of its storage" in refused(source)
