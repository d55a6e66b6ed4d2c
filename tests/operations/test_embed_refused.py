"""Checkpoints whose vectors cannot be had, or not well enough: one sentence, nothing written."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builder.graph import int8
from builder.model import report, verify
from builder.model.__main__ import main
from fillmask.model import manifest
from fillmask.operations.embed import Embedding
from support import checkpoints
from support.checkpoints import SMALL

CLS = {
    "word_embedding_dimension": 64,
    "pooling_mode_cls_token": True,
    "pooling_mode_mean_tokens": False,
}


@pytest.fixture(autouse=True)
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is not what these tests are about."""
    monkeypatch.setattr(verify, "sentences", lambda: ["七上八下。", "ab丁七不c!"])


def rewrite(path: Path, change: Callable[[Any], object]) -> None:
    value = json.loads(path.read_text()) if path.exists() else {}
    changed = change(value)
    path.write_text(json.dumps(value if changed is None else changed))


def pooling(**values: Any) -> Callable[[Path], object]:
    return lambda folder: rewrite(
        folder / "1_Pooling" / "config.json", lambda config: config.update(values)
    )


def module(index: int, **values: Any) -> Callable[[Path], object]:
    return lambda folder: rewrite(
        folder / "modules.json", lambda modules: modules[index].update(values)
    )


def library(**values: Any) -> Callable[[Path], object]:
    return lambda folder: rewrite(
        folder / "config_sentence_transformers.json", lambda config: config.update(values)
    )


REFUSED: list[tuple[Callable[[Path], object], str]] = [
    (pooling(pooling_mode_max_tokens=True), "the pooling cls_token + max_tokens; only mean or cls"),
    (
        pooling(pooling_mode_cls_token=False, pooling_mode_lasttoken=True),
        "the pooling lasttoken; only",
    ),
    (pooling(pooling_mode_cls_token=False), "the pooling none; only"),
    (pooling(pooling_mode="max"), "the pooling max; only"),
    (pooling(pooling_mode=["mean", "cls"]), "only mean or cls"),
    (
        module(2, type="sentence_transformers.models.LSTM"),
        "the steps Transformer, Pooling, LSTM, and only",
    ),
    (module(1, type="sentence_transformers.models.LSTM"), "the steps Transformer, LSTM, Normalize"),
    (module(0, type="custom_st.Transformer"), "the steps custom_st.Transformer, Pooling"),
    (module(0, path="../elsewhere"), "outside of its folder"),
    (module(1, path="gone"), "has no config.json"),
    (lambda folder: (folder / "modules.json").write_text("[]"), "does not list the steps"),
    (lambda folder: (folder / "modules.json").write_text("{}"), "does not hold a JSON list"),
    (
        library(prompts={"query": "为这个句子"}, default_prompt_name="query"),
        "its prompt 'query' before every text",
    ),
    (library(truncate_dim=32), "cuts its vectors to 32 dimensions"),
    (
        lambda folder: (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 2}'),
        "the minimum is 3",
    ),
    (
        lambda folder: (folder / "tokenizer_config.json").write_text(
            '{"tokenize_chinese_chars": false}'
        ),
        "ideographs",
    ),
]


@pytest.mark.parametrize(("change", "says"), REFUSED)
def test_what_would_give_other_vectors_is_refused_in_one_sentence(
    tmp_path: Path,
    change: Callable[[Path], object],
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = checkpoints.sentence_transformer(tmp_path / "source", CLS, **checkpoints.SMALL)
    change(source)
    assert main([str(source), "--out", str(tmp_path / "out"), "--task", "embed", "--force"]) == 1
    (error,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert says in error
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_no_head_and_no_task_names_the_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, encoder in (("flat", ""), ("old", "0_Transformer")):
        source = checkpoints.sentence_transformer(
            tmp_path / name, CLS, encoder=encoder, **checkpoints.SMALL
        )
        assert main([str(source), "--out", str(tmp_path / "out")]) == 1
        assert "--task embed builds it for embeddings alone" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("worse", "says"),
    [
        ({"mean_cosine": 0.98}, "a mean cosine with float32's of 0.9800, and the minimum is 0.99"),
        ({"least_cosine": 0.916}, "a least cosine with float32's of 0.9160, and the minimum"),
        ({"nearest_agreement": 0.9}, "as near a neighbour as float32's in a share of 0.9000"),
    ],
)
def test_a_model_is_judged_by_the_mean_the_least_and_the_nearest(
    worse: dict[str, Any], says: str
) -> None:
    """Three channels ten times as large once left a mean of 0.9916 and a least of 0.916."""
    good = verify.Cosines(498, mean_cosine=0.9916, least_cosine=0.96, nearest_agreement=0.97)
    pooling = report.VectorsReport("modules.json", "")
    assert report.EmbedReport(good, pooling).fault is None
    assert says in (report.EmbedReport(replace(good, **worse), pooling).fault or "")


def test_a_neighbour_is_as_near_when_float32_says_so() -> None:
    def embeddings(*degrees: float) -> list[Embedding]:
        angles = np.radians(degrees)
        rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        return [Embedding(row, 3, 1, 0) for row in rows]

    exact = embeddings(0, 10, 20.1, 60)
    assert verify.cosines(embeddings(0, 10.2, 20.1, 60), exact).nearest_agreement == 1
    assert verify.cosines(embeddings(0, 10, 45, 60), exact).nearest_agreement == 0.75


def test_embeddings_that_disagree_with_float32_stop_the_build(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def reversed_sign(weight: Any) -> Any:
        scales = np.abs(weight).max(axis=0).astype(np.float32)
        return -np.rint(weight / scales).astype(np.int8), scales

    monkeypatch.setattr(int8, "pair_safe", reversed_sign)
    source = checkpoints.sentence_transformer(tmp_path / "source", CLS, **SMALL)
    assert main([str(source), "--out", str(tmp_path / "out"), "--task", "embed"]) == 1
    assert "the minimum is 0.99; --force keeps it anyway." in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([str(source), "--out", str(tmp_path / "out"), "--task", "embed", "--force"]) == 0
    assert manifest.read(tmp_path / "out").content["report"]["embeddings"]["mean_cosine"] < 0.99
