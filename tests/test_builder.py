"""Checkpoints in every form they come in become one model; what cannot be built is refused in one sentence."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from safetensors.numpy import load_file, save_file

import checkpoints
from builder import products, tokenizer, verify
from builder.build import main
from fillmask import manifest

SMALL: dict[str, Any] = {"hidden": 64, "layers": 2, "heads": 4, "ffn": 96, "positions": 48, "size": 200}
Change = Callable[[Path], object]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small checkpoint with gamma/beta names, `bert.` prefix, tied decoder, vocab.txt, one safetensors file."""
    return checkpoints.write(tmp_path / "source", **SMALL)


@pytest.fixture
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is not what these tests are about."""
    monkeypatch.setattr(verify, "sentences", lambda: ["秋天会落叶。", "永昌府是中国古代的一个府。"])


def built(source: Path, *options: str) -> bytes:
    """The graph and weights that the builder makes of a folder."""
    out = source.parent / "out"
    assert main([str(source), "--out", str(out), "--force", "--name", "small", *options]) == 0
    return b"".join((out / name).read_bytes() for name in manifest.FILES)


def rename(folder: Path, change: Callable[[str], str]) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file({change(name): tensor for name, tensor in tensors.items()}, folder / "model.safetensors")


def modern_names(folder: Path) -> None:
    rename(folder, lambda name: name.replace("gamma", "weight").replace("beta", "bias").removeprefix("bert."))


def shards(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    names = sorted(tensors)
    weight_map = {name: f"model-0000{i % 2 + 1}-of-00002.safetensors" for i, name in enumerate(names)}
    for shard in set(weight_map.values()):
        save_file({name: tensors[name] for name in names if weight_map[name] == shard}, folder / shard)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    (folder / "model.safetensors").unlink()


def state_dict(tensors: dict[str, Any], storage_end: bytes) -> bytes:
    """The pickle of a state dict as torch writes it, by hand: protocol 2, tensors by reference to storages."""
    body = [b"\x80\x02ccollections\nOrderedDict\n)R("]
    for number, (name, tensor) in enumerate(tensors.items()):
        body += [text(name), b"ctorch._utils\n_rebuild_tensor_v2\n(("]
        body += [text("storage"), b"ctorch\nFloatStorage\n", text(str(number)), text("cpu")]
        body += [number_of(tensor.size), storage_end]
        strides = [step // tensor.itemsize for step in tensor.strides]
        body += [number_of(0), *tuple_of(tensor.shape), *tuple_of(strides), b"\x89ccollections\nOrderedDict\n)RtR"]
    return b"".join([*body, b"u."])


def torch_zip(folder: Path) -> None:
    """pytorch_model.bin as torch >= 1.6 writes it."""
    tensors = load_file(folder / "model.safetensors")
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
        archive.writestr("archive/data.pkl", state_dict(tensors, b"tQ"))
        for number, tensor in enumerate(tensors.values()):
            archive.writestr(f"archive/data/{number}", tensor.tobytes())
    (folder / "model.safetensors").unlink()


def torch_legacy(folder: Path) -> None:
    """pytorch_model.bin as torch wrote it before, and many checkpoints still are."""
    tensors = load_file(folder / "model.safetensors")
    with (folder / "pytorch_model.bin").open("wb") as file:
        for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
            file.write(pickle.dumps(value, protocol=2))
        file.write(state_dict(tensors, b"NtQ"))
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
    tensors["cls.predictions.decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"].copy()
    save_file(tensors, folder / "model.safetensors")


def tokenizer_json(folder: Path) -> None:
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    content = {"model": {"type": "WordPiece", "vocab": {token: index for index, token in enumerate(lines)}},
               "added_tokens": [{"id": 4, "content": "[MASK]"}]}
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "vocab.txt").unlink()


@pytest.mark.usefixtures("few_sentences")
@pytest.mark.parametrize("change", [
    modern_names, shards, torch_zip, torch_legacy, untouched_decoder, tokenizer_json])
def test_every_form_of_a_checkpoint_gives_the_same_model(source: Path, change: Change) -> None:
    expected = built(source)
    change(source)
    assert built(source) == expected


@pytest.mark.usefixtures("few_sentences")
def test_half_precision_is_read(source: Path) -> None:
    tensors = load_file(source / "model.safetensors")
    half = {name: tensor.astype(np.float16) for name, tensor in tensors.items()}
    save_file({name: tensor.astype(np.float32) for name, tensor in half.items()}, source / "model.safetensors")
    expected = built(source)
    save_file(half, source / "model.safetensors")
    assert built(source) == expected


@pytest.mark.usefixtures("few_sentences")
def test_an_untied_decoder_is_kept_apart(source: Path) -> None:
    tied = built(source)
    tensors = load_file(source / "model.safetensors")
    tensors["cls.predictions.decoder.weight"] = -tensors["bert.embeddings.word_embeddings.weight"]
    save_file(tensors, source / "model.safetensors")
    assert len(built(source)) > len(tied) + 200 * 64


def config(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def without(folder: Path, start: str) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file({name: tensor for name, tensor in tensors.items() if not name.startswith(start)},
              folder / "model.safetensors")


def vocabulary(folder: Path, change: Callable[[list[str]], list[str]]) -> None:
    path = folder / "vocab.txt"
    path.write_text("\n".join(change(path.read_text(encoding="utf-8").split("\n"))), encoding="utf-8")


def evil(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
        archive.writestr("archive/data.pkl", b"cos\nsystem\n(S'touch " + str(folder / "ran").encode() + b"'\ntR.")


def old_evil(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'touch " + str(folder / "ran").encode() + b"'\ntR.")


def not_torch(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({}))


@pytest.mark.usefixtures("few_sentences")
@pytest.mark.parametrize(("change", "says"), [
    (lambda folder: config(folder, model_type="roberta"), "only the BERT architecture"),
    (lambda folder: config(folder, position_embedding_type="relative_key"), "only absolute"),
    (lambda folder: config(folder, hidden_act="silu"), "activation 'silu'"),
    (lambda folder: config(folder, vocab_size=201), "does not fit"),
    (lambda folder: (folder / "config.json").unlink(), "has no config.json"),
    (lambda folder: (folder / "config.json").write_text("{"), "is not JSON"),
    (lambda folder: without(folder, "cls.predictions.transform"), "no masked-LM head"),
    (lambda folder: without(folder, "bert.encoder.layer.1"), "has no tensor"),
    (lambda folder: vocabulary(folder, lambda lines: lines[:-2]), "does not fit"),
    (lambda folder: vocabulary(folder, lambda lines: ["[M]" if line == "[MASK]" else line for line in lines]),
     "has no [MASK]"),
    (lambda folder: vocabulary(folder, lambda lines: [*lines[:-2], lines[-3], ""]), "lists a token twice"),
    (lambda folder: (folder / "model.safetensors").unlink(), "neither model.safetensors nor"),
    (lambda folder: (folder / "model.safetensors").write_bytes(b"x" * 99), "not a readable safetensors file"),
    (evil, "os.system"),
    (old_evil, "os.system"),
    (not_torch, "not a file of torch's"),
])
def test_what_cannot_be_built_is_one_sentence_and_leaves_nothing(
    source: Path, change: Change, says: str, capsys: pytest.CaptureFixture[str],
) -> None:
    change(source)
    assert main([str(source), "--out", str(source.parent / "out"), "--force"]) == 1
    error = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(error) == 1
    assert says in error[0]
    assert sorted(path.name for path in source.parent.iterdir()) == ["source"]
    assert not (source / "ran").exists()


def test_a_model_that_disagrees_with_float32_stops_the_build(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def coarse(weight: Any) -> Any:
        scales = np.abs(weight).max(axis=0).astype(np.float32)
        return np.rint(weight / scales).astype(np.int8), scales

    monkeypatch.setattr(products, "pair_safe", coarse)
    assert main([str(source), "--out", str(source.parent / "out")]) == 1
    assert not (source.parent / "out").exists()
    assert main([str(source), "--out", str(source.parent / "out"), "--force"]) == 0


def test_weights_are_pair_safe_and_well_used() -> None:
    weight = np.random.default_rng(5).standard_normal((301, 64)).astype(np.float32)
    values, scales = products.pair_safe(weight)
    wide = np.concatenate([values, np.zeros((1, 64), np.int8)]).astype(int)
    assert np.abs(wide[0::2] + wide[1::2]).max() <= 128
    assert np.abs(values * scales - weight).max() <= scales.max() / 2 + 1e-6
    assert np.abs(wide).max() >= 80


@pytest.mark.usefixtures("few_sentences")
def test_the_embedded_model_is_what_the_builder_makes_of_its_checkpoint(tmp_path: Path) -> None:
    shutil.copytree("layer/builder/default-model", tmp_path / "source")
    assert main([str(tmp_path / "source"), "--out", str(tmp_path / "out"), "--name", "fillmask-zh-mini"]) == 0
    ours, made = (json.loads(Path(folder, "model.json").read_text()) for folder in ("layer/model", tmp_path / "out"))
    assert made["digest"] == ours["digest"]
    assert made["files"] == ours["files"]


@pytest.mark.parametrize(("vocabulary", "options", "folds"), [
    (["[PAD]", "a", "中"], {}, True), (["[PAD]", "a", "A"], {}, False),
    (["a", "A"], {"do_lower_case": True}, True),
    (["[UNK]", "<S>", "a"], {"do_lower_case": False}, True),
])
def test_capitals_are_folded_by_measurement(vocabulary: list[str], options: dict[str, Any], folds: bool) -> None:
    assert tokenizer.folds_capitals(vocabulary, options) is folds


@pytest.mark.slow
def test_bert_base_shape_in_size_and_memory(tmp_path: Path) -> None:
    source = checkpoints.write(tmp_path / "base")
    script = ("import resource, sys\nfrom builder import build, hub, verify\nfrom pathlib import Path\n"
              "verify.sentences = lambda: ['秋天会落叶。']\n"  # the report is not what is measured here
              "build.build(hub.find(sys.argv[1]), Path(sys.argv[2]), force=True)\n"
              "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)")
    done = subprocess.run([sys.executable, "-c", script, str(source), str(tmp_path / "out")],
                          env=os.environ | {"PYTHONPATH": "layer"}, capture_output=True, text=True, check=True,
                          timeout=300)
    assert int(done.stdout) * 1024 <= 3 * 2**30
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "out").iterdir()}
    assert sum(sizes.values()) <= 106_000_000
    onnx.checker.check_model(str(tmp_path / "out" / "model.onnx"))
