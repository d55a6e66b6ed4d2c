"""model.json: what is read of it, and one sentence for everything that is wrong with it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fillmask.errors import EngineUnavailable
from fillmask.model import manifest
from fillmask.model.manifest import NO_TOKEN, Manifest, Pooling, Special
from support.paths import MODEL

Content = dict[str, Any]

FILES: Content = json.loads((MODEL / "model.json").read_text(encoding="utf-8"))["files"]
SPECIAL = {"pad": 0, "unknown": 1, "start": 2, "end": 3, "mask": 4}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the embedded model's folder."""
    return Path(shutil.copytree(MODEL, tmp_path / "model"))


def changed(folder: Path, change: Callable[[Content], object]) -> Manifest:
    """The manifest that is read after a change of its content."""
    path = folder / "model.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    return manifest.read(folder)


def test_the_embedded_model() -> None:
    described = manifest.read(MODEL)
    content = json.loads((MODEL / "model.json").read_text(encoding="utf-8"))
    assert described.content == content
    assert described == Manifest(
        id="fillmask-zh-mini",
        digest=content["digest"],
        tasks=("fill-mask", "embed"),
        vocabulary=7902,
        max_tokens=256,
        hidden=256,
        mask_token="[MASK]",
        special=Special(pad=0, unknown=1, start=2, end=3, mask=4),
        lowercase=True,
        pooling=Pooling(mode="mean", special_tokens=False),
        content=content,
    )


def test_a_text_stands_between_two_special_tokens() -> None:
    described = manifest.read(MODEL)
    tokens = list(range(100, 100 + described.capacity))
    enclosed = described.special.enclose(tokens)
    assert enclosed == [2, *tokens, 3]
    assert len(enclosed) == described.max_tokens


def test_an_encoder_for_embeddings_may_have_no_mask(folder: Path) -> None:
    def without_mask(content: Content) -> None:
        del content["special"]["mask"]
        content["mask_token"] = None

    described = changed(folder, without_mask)
    assert described.special.mask == NO_TOKEN
    assert described.mask_token == ""


@pytest.mark.parametrize("name", [*Manifest._fields[:-1], "files"])
def test_a_missing_member_is_named(folder: Path, name: str) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        changed(folder, lambda content: content.pop(name))
    assert caught.value.detail == f"{folder / 'model.json'} has no {name!r}."


@pytest.mark.parametrize("name", ["pad", "unknown", "start", "end"])
def test_a_missing_special_token_is_named(folder: Path, name: str) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        changed(folder, lambda content: content["special"].pop(name))
    assert caught.value.detail == f"'special' in {folder / 'model.json'} has no {name!r}."


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": 2}, "has format 2, and this package reads 1."),
        ({"format": None}, "has format None, and this package reads 1."),
        ({"vocabulary": "7902"}, "has a 'vocabulary' of type str, not int."),
        ({"mask_token": 4}, "has a 'mask_token' of type int, not str."),
        ({"special": [0, 1, 2, 3, 4]}, "has a 'special' of type list, not dict."),
        ({"pooling": {"mode": "mean"}}, "has no 'special_tokens'."),
        (
            {"pooling": {"mode": "max", "special_tokens": True}},
            "has mode 'max'; known are mean and cls.",
        ),
        ({"files": FILES | {"model.onnx": 1}}, "does not have the 1 bytes that model.json says."),
        ({"files": FILES | {"../x": 1}}, "x is missing or does not have the 1 bytes"),
        ({"files": {}}, "has no 'model.onnx'."),
        ({"files": FILES | {"model.onnx": "1"}}, "has a 'model.onnx' of type str, not int."),
        ({"files": []}, "has a 'files' of type list, not dict."),
        ({"tasks": []}, "has 'tasks' other than fill-mask and embed."),
        ({"tasks": ["fill-mask", 5]}, "has 'tasks' other than fill-mask and embed."),
        ({"tasks": [["embed"]]}, "has 'tasks' other than fill-mask and embed."),
        ({"tasks": "embed"}, "has a 'tasks' of type str, not list."),
        ({"max_tokens": -1}, "has 'max_tokens' = -1, which must be at least 3."),
        ({"max_tokens": 2}, "has 'max_tokens' = 2, which must be at least 3."),
        ({"max_tokens": True}, "has a 'max_tokens' of type bool, not int."),
        ({"hidden": 0}, "has 'hidden' = 0, which must be at least 1."),
        ({"vocabulary": 0}, "has 'vocabulary' = 0, which must be at least 1."),
        ({"special": SPECIAL | {"end": -1}}, "has 'end' = -1, which must be from 0 to 7901."),
        ({"special": SPECIAL | {"pad": 7902}}, "has 'pad' = 7902, which must be from 0 to 7901."),
        ({"special": SPECIAL | {"mask": 9999}}, "has 'mask' = 9999, which must be from -1 to"),
    ],
    ids=str,
)
def test_what_cannot_be_right_is_refused(folder: Path, change: Content, says: str) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        changed(folder, lambda content: content.update(change))
    assert says in caught.value.detail
    assert str(folder) in caught.value.detail


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON."),
        ("\udcff", "is not JSON."),
        ("[" * 390_000, "is not JSON."),
        ("[]", "not a JSON object."),
    ],
)
def test_what_is_no_object_is_refused(folder: Path, text: str, says: str) -> None:
    path = folder / "model.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(EngineUnavailable) as caught:
        manifest.read(folder)
    assert str(path) in caught.value.detail
    assert says in caught.value.detail


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        manifest.read(tmp_path)
    assert caught.value.detail == f"There is no model.json in {tmp_path}."
