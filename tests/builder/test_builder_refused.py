"""Checkpoints that cannot be built: one sentence, and nothing left behind."""

import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builder.model import verify
from builder.model.build import main
from support import checkpoints
from support.checkpoint_forms import (
    Place,
    config,
    tensor,
    torch_legacy,
    torch_zip,
    vocabulary,
    without,
)

SMALL: dict[str, Any] = {
    "hidden": 64,
    "layers": 2,
    "heads": 4,
    "ffn": 96,
    "positions": 48,
    "size": 200,
}
Change = Callable[[Path], object]


@pytest.fixture(autouse=True)
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is not what these tests are about."""
    monkeypatch.setattr(verify, "sentences", lambda: ["秋天会落叶。"])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small checkpoint that can be built."""
    return checkpoints.write(tmp_path / "source", **SMALL)


def evil(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
        archive.writestr(
            "archive/data.pkl", b"cos\nsystem\n(S'touch " + str(folder / "ran").encode() + b"'\ntR."
        )


def old_evil(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(
        b"cos\nsystem\n(S'touch " + str(folder / "ran").encode() + b"'\ntR."
    )


def torch_file(content: bytes) -> Change:
    """These bytes instead of the weights."""

    def change(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / "pytorch_model.bin").write_bytes(content)

    return change


def zipped(**members: bytes) -> Change:
    def change(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
            for name, content in members.items():
                archive.writestr(f"archive/{name}.pkl", content)

    return change


def index(content: str) -> Change:
    def change(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors.index.json").write_text(content)

    return change


def words(content: str) -> Change:
    """A tokenizer.json instead of vocab.txt."""

    def change(folder: Path) -> None:
        (folder / "vocab.txt").unlink()
        (folder / "tokenizer.json").write_text(content)

    return change


def positions(folder: Path, count: int) -> None:
    config(folder, max_position_embeddings=count)
    tensor(folder, "bert.embeddings.position_embeddings.weight", lambda value: value[:count].copy())


def gbk(folder: Path) -> None:
    text = (folder / "vocab.txt").read_text(encoding="utf-8")
    (folder / "vocab.txt").write_bytes(text.encode("gbk", "replace"))


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 99\n"
WORDS = "bert.embeddings.word_embeddings.weight"
BETA = "bert.embeddings.LayerNorm.beta"
QUERY = "bert.encoder.layer.0.attention.self.query.weight"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda folder: config(folder, model_type="roberta"), "only the BERT architecture"),
        (lambda folder: config(folder, position_embedding_type="relative_key"), "only absolute"),
        (lambda folder: config(folder, hidden_act="silu"), "activation 'silu'"),
        (lambda folder: config(folder, vocab_size=201), "does not fit"),
        (lambda folder: (folder / "config.json").unlink(), "has no config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), "is not JSON"),
        (lambda folder: without(folder, "cls.predictions.transform"), "no masked-LM head"),
        (lambda folder: without(folder, "bert.encoder.layer.1"), "has no tensor"),
        (
            lambda folder: vocabulary(folder, lambda lines: [*lines[:-1], "more", ""]),
            "does not fit",
        ),
        (
            lambda folder: vocabulary(
                folder, lambda lines: ["[M]" if line == "[MASK]" else line for line in lines]
            ),
            "has no [MASK]",
        ),
        (
            lambda folder: vocabulary(folder, lambda lines: [*lines[:-2], lines[-3], ""]),
            "lists a token twice",
        ),
        (lambda folder: tensor(folder, WORDS, lambda value: value[1:].copy()), "does not fit"),
        (lambda folder: (folder / "model.safetensors").unlink(), "neither model.safetensors nor"),
        (
            lambda folder: (folder / "model.safetensors").write_bytes(b"x" * 99),
            "not a readable safetensors file",
        ),
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
        (
            torch_file(POINTER),
            "pytorch_model.bin is a Git LFS pointer, not the weights: run git lfs pull.",
        ),
        (
            lambda folder: (folder / "model.safetensors").write_bytes(POINTER),
            "is a Git LFS pointer",
        ),
        (index("{}"), "does not say which file"),
        (index('{"weight_map": {"a": 1}}'), "does not say which file"),
        (index('{"weight_map": {"a": "../source/config.json"}}'), "does not say which file"),
        (
            index('{"weight_map": {"a": "model-1.safetensors"}}'),
            "names the file model-1.safetensors, which is not there",
        ),
        (gbk, "vocab.txt is not a text in UTF-8"),
        (words("[]"), "does not hold a JSON object"),
        (words('{"model": {"vocab": ["a"]}}'), "does not list tokens and their ids"),
        (words('{"model": {"vocab": {"a": "0"}}}'), "leaves gaps"),
        (
            lambda folder: (folder / "tokenizer_config.json").write_text('{"strip_accents": "no"}'),
            "gives 'no' as strip",
        ),
        (
            lambda folder: tensor(folder, QUERY, lambda value: value * np.nan),
            "self.query.weight holds NaN or infinity",
        ),
        (
            lambda folder: tensor(folder, "cls.predictions.bias", lambda value: value - np.inf),
            "bias holds NaN or infinity",
        ),
        (
            lambda folder: tensor(folder, BETA, lambda value: value + np.float32(3e38)),
            "computes NaN or infinity",
        ),
        (
            lambda folder: positions(folder, 2),
            "has 2 positions, and [CLS], a token and [SEP] take 3",
        ),
        (
            lambda folder: positions(folder, 16),
            "has 16 positions, and the probes that prove a fill-mask model take 17",
        ),
        (lambda folder: config(folder, num_hidden_layers="2"), "gives '2' as num_hidden_layers"),
        (lambda folder: config(folder, num_hidden_layers=0), "gives 0 as num_hidden_layers"),
        (lambda folder: config(folder, layer_norm_eps=None), "gives None as layer_norm_eps"),
        (lambda folder: config(folder, num_attention_heads=5), "among 5 heads"),
        (lambda folder: config(folder, hidden_size=72), "only multiples of 16"),
        (
            lambda folder: config(folder, num_hidden_layers=10**30),
            "tensor encoder.layer.2.attention.self.query.weight",
        ),
        (
            lambda folder: config(folder, intermediate_size=97),
            "encoder.layer.0.intermediate.dense.weight is 96 x 64, and config.json asks for 97 x 64",
        ),
        (
            lambda folder: config(folder, max_position_embeddings=64),
            "position_embeddings.weight is 48 x 64",
        ),
        (
            lambda folder: config(folder, type_vocab_size=1),
            "token_type_embeddings.weight is 2 x 64",
        ),
        (
            lambda folder: tensor(folder, QUERY, lambda value: value[:, 1:].copy()),
            "query.weight is 64 x 63",
        ),
        (
            lambda folder: tensor(folder, QUERY, lambda value: np.array(value[0, 0])),
            "query.weight is one number",
        ),
        (
            lambda folder: tensor(folder, "cls.predictions.bias", lambda value: value[1:].copy()),
            "predictions.bias is 199",
        ),
        (
            lambda folder: without(folder, "bert.encoder.layer.0.output.LayerNorm.beta"),
            "layer.0.output.LayerNorm.bias",
        ),
        (
            lambda folder: without(folder, "bert.embeddings.LayerNorm.gamma"),
            "no tensor embeddings.LayerNorm.weight",
        ),
        (lambda folder: config(folder, tie_word_embeddings=False), "no masked-LM head"),
    ],
)
def test_what_cannot_be_built_is_one_sentence_and_leaves_nothing(
    source: Path,
    change: Change,
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change(source)
    assert main([str(source), "--out", str(source.parent / "out"), "--force"]) == 1
    error = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(error) == 1
    assert says in error[0]
    assert sorted(path.name for path in source.parent.iterdir()) == ["source"]
    assert not (source / "ran").exists()


@pytest.mark.parametrize("form", [torch_zip, torch_legacy])
@pytest.mark.parametrize(
    "place",
    [
        (0, (1 << 30, 2), (0, 0)),
        (0, (201, 64), (64, 1)),
        (1, (200, 64), (64, 1)),
        (-1, (2,), (1,)),
        (0, (2,), (-1,)),
        (0, (-2,), (1,)),
        (0, (2,), (1, 1)),
        (0, (64,), (1 << 30,)),
        (0, (0,), (1,)),
    ],
)
def test_a_tensor_outside_of_its_storage_is_refused(
    source: Path,
    form: Callable[[Path, Place], None],
    place: Place,
    capsys: pytest.CaptureFixture[str],
) -> None:
    form(source, place)
    assert main([str(source), "--out", str(source.parent / "out"), "--force"]) == 1
    assert "outside of its storage" in capsys.readouterr().err
    assert not (source.parent / "out").exists()


def test_a_file_that_ends_early_is_refused(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch_legacy(source)
    path = source / "pytorch_model.bin"
    path.write_bytes(path.read_bytes()[:-4])
    assert main([str(source), "--out", str(source.parent / "out"), "--force"]) == 1
    assert "outside of its storage" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("source", "is the checkpoint's folder or holds it"),
        (".", "is the checkpoint's folder or holds it"),
        ("source/../source", "is the checkpoint's folder"),
        ("here", "is the current folder"),
        ("full", "has no model.json"),
        ("file", "is not a folder"),
        ("link", "is not a folder"),
    ],
)
def test_what_is_no_model_is_not_replaced(
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    out: str,
    says: str,
) -> None:
    top = source.parent
    for folder in ("here/below", "full", "empty"):
        (top / folder).mkdir(parents=True)
        (top / folder / "precious").touch()
    (top / "file").touch()
    (top / "link").symlink_to(top / "empty")
    monkeypatch.chdir(top / "here" / "below")
    before = sorted(top.rglob("*"))
    assert main([str(source), "--out", str(top / out), "--force"]) == 1
    said = capsys.readouterr().err
    assert says in said
    assert "reading" not in said
    assert sorted(top.rglob("*")) == before


def test_a_card_stays_with_the_model_it_describes(source: Path) -> None:
    out = source.parent / "out"
    out.mkdir()
    for name, stays in (("one", False), ("one", True), ("other", False)):
        assert main([str(source), "--out", str(out), "--force", "--name", name]) == 0
        assert (out / "MODEL_CARD.md").exists() is stays
        (out / "MODEL_CARD.md").write_text("about one")
