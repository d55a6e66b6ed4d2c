"""Checkpoints in every form they come in become one model, which must agree with float32."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from safetensors.numpy import load_file, save_file

from builder.checkpoint import wordpiece
from builder.checkpoint.reading import Checkpoint
from builder.checkpoint.wordpiece import Normaliser, WordPiece
from builder.graph import calibrate, int8
from builder.model import report
from builder.model.__main__ import main
from fillmask.model import manifest
from support import checkpoints
from support.checkpoint_forms import (
    Change,
    config,
    decoder_bias,
    leftover_decoder,
    modern_names,
    shards,
    tokenizer_json,
    torch_legacy,
    torch_zip,
    untouched_decoder,
    vocabulary,
)
from support.paths import CHECKPOINT, PYTHONPATH


def built(source: Path, *options: str) -> bytes:
    """The graph and weights that the builder makes of a folder."""
    out = source.parent / "out"
    assert main([str(source), "--out", str(out), "--force", "--name", "small", *options]) == 0
    return b"".join((out / name).read_bytes() for name in manifest.FILES)


@pytest.mark.usefixtures("few_sentences")
@pytest.mark.parametrize(
    "change",
    [
        modern_names,
        shards,
        torch_zip,
        torch_legacy,
        untouched_decoder,
        leftover_decoder,
        decoder_bias,
        tokenizer_json,
    ],
)
def test_every_form_of_a_checkpoint_gives_the_same_model(source: Path, change: Change) -> None:
    expected = built(source)
    change(source)
    assert built(source) == expected


@pytest.mark.usefixtures("few_sentences")
def test_half_precision_is_read(source: Path) -> None:
    path = source / "model.safetensors"
    half = {name: tensor.astype(np.float16) for name, tensor in load_file(path).items()}
    save_file({name: tensor.astype(np.float32) for name, tensor in half.items()}, path)
    expected = built(source)

    save_file(half, path)
    assert built(source) == expected


@pytest.mark.usefixtures("few_sentences")
def test_an_untied_decoder_is_kept_apart(source: Path) -> None:
    tied = built(source)
    leftover_decoder(source)
    config(source, tie_word_embeddings=False)
    assert len(built(source)) > len(tied) + 200 * 64


@pytest.mark.usefixtures("few_sentences")
def test_embeddings_without_a_token_are_kept_and_never_candidates(
    source: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    vocabulary(source, lambda lines: [*lines[:-6], ""])  # lines end with an empty one
    built(source)
    assert "5 embeddings have no token" in capsys.readouterr().err

    checkpoint = Checkpoint.load(source)
    tokens = checkpoint.tokenizer.tokens
    assert len(tokens) == checkpoint.shape.vocabulary == 200
    assert len(set(tokens[195:])) == 5

    allowed = wordpiece.allowed(tokens)
    assert np.isneginf(allowed[:, 195:]).all()
    assert not np.isneginf(allowed[1, 100:195]).any()


def test_a_head_that_predicts_no_chinese_stops_the_build(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(source), "--out", str(source.parent / "out")]) == 1
    said = capsys.readouterr().err
    assert "calibrating" not in said
    assert "masked-LM head does not predict Chinese" in said
    assert "(right in the first five candidates on 0 of 62 probes" in said
    assert "--task embed builds it for embeddings; --force keeps it anyway." in said
    assert not (source.parent / "out").exists()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_a_build_ended_by_a_signal_leaves_nothing_behind(
    source: Path, monkeypatch: pytest.MonkeyPatch, ending: signal.Signals
) -> None:
    def end(*_: object) -> None:
        assert len(list(source.parent.iterdir())) == 2
        signal.raise_signal(ending)

    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    monkeypatch.setattr(calibrate, "queries", end)
    try:
        with pytest.raises(SystemExit) as ended:
            main([str(source), "--out", str(source.parent / "out"), "--force"])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert ended.value.code == 128 + ending
    assert [path.name for path in source.parent.iterdir()] == ["source"]


def test_a_model_that_disagrees_with_float32_stops_the_build(
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def coarse(weight: Any) -> Any:
        scales = np.abs(weight).max(axis=0).astype(np.float32)
        return np.rint(weight / scales).astype(np.int8), scales

    monkeypatch.setattr(int8, "pair_safe", coarse)
    monkeypatch.setattr(report, "head_fault", lambda float32: None)  # random, and not at issue here
    out = source.parent / "out"
    assert main([str(source), "--out", str(out)]) == 1
    assert "of the blanks, and the minimum is 95%" in capsys.readouterr().err
    assert not out.exists()
    assert main([str(source), "--out", str(out), "--force"]) == 0


def test_weights_are_pair_safe_and_well_used() -> None:
    weight = np.random.default_rng(5).standard_normal((301, 64)).astype(np.float32)
    values, scales = int8.pair_safe(weight)
    wide = np.concatenate([values, np.zeros((1, 64), np.int8)]).astype(int)
    assert np.abs(wide[0::2] + wide[1::2]).max() <= 128
    assert np.abs(values * scales - weight).max() <= scales.max() / 2 + 1e-6
    assert np.abs(wide).max() >= 80


@pytest.mark.usefixtures("few_sentences")
def test_the_embedded_model_is_what_the_builder_makes_of_its_checkpoint(tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(CHECKPOINT, source)
    assert main([str(source), "--out", str(out), "--name", "fillmask-zh-mini"]) == 0

    ours = json.loads(Path("layer/model/model.json").read_text())
    made = json.loads((out / "model.json").read_text())
    assert made["digest"] == ours["digest"]
    assert made["files"] == ours["files"]


@pytest.mark.parametrize(
    ("tokens", "said", "folds"),
    [
        (["[PAD]", "a", "中"], None, True),
        (["[PAD]", "a", "A"], None, False),
        (["a", "A"], True, True),
        (["[UNK]", "<S>", "a"], False, True),
    ],
)
def test_capitals_are_folded_by_measurement(
    tokens: list[str], said: bool | None, folds: bool
) -> None:
    normaliser = Normaliser(said, strip_accents=None, split_ideographs=None)
    assert wordpiece.folds_capitals(WordPiece(tokens, normaliser)) is folds


@pytest.mark.slow
def test_bert_base_shape_in_size_and_memory(tmp_path: Path) -> None:
    source = checkpoints.write(tmp_path / "base")
    script = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from builder.checkpoint import hub\nfrom builder.model import build, verify\n"
        "verify.sentences = lambda: ['秋天会落叶。']\n"  # the report is not what is measured here
        "build.build(hub.find(sys.argv[1]), Path(sys.argv[2]), force=True)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(source), str(tmp_path / "out")],
        env=os.environ | {"PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert int(done.stdout) * 1024 <= 3 * 2**30
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "out").iterdir()}
    assert sum(sizes.values()) <= 108_000_000
    onnx.checker.check_model(str(tmp_path / "out" / "model.onnx"))
