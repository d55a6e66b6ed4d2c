"""`./build.sh eval`: the user's data read, and scored against numbers worked out by other means."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builder.evaluate import cloze, pairs, samples
from builder.evaluate.__main__ import main
from builder.evaluate.samples import Cloze, DataError, Pair
from builder.model.progress import Progress
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.embed import Embedding
from fillmask.operations.service import Service
from support.paths import CHECKPOINT, LAYER, MODEL

PROBES = LAYER / "builder" / "data" / "cloze-probes.jsonl"
SENTENCES = LAYER / "builder" / "data" / "sentences-cc0.txt"
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of samples."""

    def written(text: str) -> Path:
        file = tmp_path / "samples"
        file.write_text(text, encoding="utf-8")
        return file

    return written


def scored(capsys: pytest.CaptureFixture[str], file: Path, *options: str) -> Any:
    """The evaluation as JSON."""
    assert main([str(file), "--model", str(MODEL), "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_probes_score_as_the_builds_report_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = scored(capsys, PROBES)
    report = json.loads((MODEL / "model.json").read_text("utf-8"))["report"]["probes"]["int8"]
    for kind, count in report["kinds"].items():
        score = found["scores"][kind]
        assert score["questions"] == count["probes"]
        assert score["top1"] * count["probes"] == pytest.approx(count["top1"])
        assert score["top5"] * count["probes"] == pytest.approx(count["top5"])
    assert found["digest"].startswith("sha256:")
    assert found["float32"] is found["agreement"] is None


def test_a_rank_is_the_place_among_the_services_candidates(
    service: Service, engine: OnnxEngine, codec: TextCodec
) -> None:
    texts = ["画龙点[MASK]。", "今天天气很[MASK]。", "我" * 300 + "喜欢[MASK]。"]
    answer = service.answer("fill-mask", {"texts": texts, "top_k": 100})
    for text, result in zip(texts, answer["results"], strict=True):
        candidates = [row["token"] for row in result["masks"][0]["candidates"]]
        for place in (1, 2, 7, 100):
            asked, skipped = cloze.ask([Cloze(text, [candidates[place - 1]], "k")], codec, engine)
            score = cloze.score(asked, engine, Progress("", 1))["k"]
            assert skipped == 0
            assert score.mrr == pytest.approx(1 / place)
            assert (score.top1, score.top5) == (place == 1, place <= 5)


def test_the_first_of_several_accepted_answers_counts(engine: OnnxEngine, codec: TextCodec) -> None:
    several = [Cloze("床前明月光，疑是地[MASK]霜。", ["下", "苹果", "上", "𠮷"], "k")]
    asked, skipped = cloze.ask(several, codec, engine)
    assert skipped == 0
    assert cloze.score(asked, engine, Progress("", 1))["k"].top1 == 1

    hopeless = [Cloze("[MASK]。", ["苹果", "𠮷", ""], "k")]
    assert cloze.ask(hopeless, codec, engine) == ([], 1)


def test_sentences_are_masked_and_the_model_compared_with_its_float32_form(
    capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    text = "\n".join(SENTENCES.read_text("utf-8").splitlines()[:30])
    found = scored(capsys, write(text), "--float", str(CHECKPOINT), "--every", "3")
    questions = found["scores"]["all"]["questions"]
    assert found["agreement"]["blanks"] == questions > 100
    assert found["agreement"]["top1_agreement"] > 0.95
    assert 0 < found["agreement"]["mean_kl"] < 0.01
    assert found["float32"]["all"]["top1"] == pytest.approx(found["scores"]["all"]["top1"], abs=0.1)


def unit(angle: float) -> Embedding:
    return Embedding(np.array([np.cos(angle), np.sin(angle)], dtype=np.float32), 3, 1, 0)


def test_pairs_follow_their_labels_or_not() -> None:
    angles = [0.1, 0.2, 0.4, 0.4]
    vectors = [*(unit(0) for _ in angles), *(unit(angle) for angle in angles)]

    def score(*labels: float) -> pairs.PairScore:
        asked = [Pair("", "", label, "all") for label in labels]
        return pairs.score(asked, vectors)["all"]

    assert score(5, 3, 1, 1).spearman == pytest.approx(1)
    assert score(0, 1, 2, 2).spearman == pytest.approx(-1)
    assert score(1, 1, 0, 0).auc == 1
    assert score(0, 1, 0, 1).auc == pytest.approx((0 + 1 + 0 + 0.5) / 4)
    assert score(1, 1, 1, 1).spearman is score(1, 1, 1, 1).auc is None
    assert score(1, 2, 3, 4).auc is None


def test_pairs_are_embedded_and_grouped(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    rows = [
        {"a": "今天天气很好", "b": "今天天气不错", "label": 1, "kind": "weather"},
        {"a": "今天天气很好", "b": "怎么退款？", "label": 0, "kind": "weather"},
        {"a": "我想退货", "b": "我想退货", "label": 1, "kind": "shop"},
    ]
    file = write("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    found = scored(capsys, file)
    assert list(found["scores"]) == ["weather", "shop", "all"]
    assert found["scores"]["weather"]["auc"] == 1
    assert found["scores"]["shop"]["mean_cosine"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ('{"text": "[MASK]", "accept": ["秘密"]', "line 1 is not JSON"),
        ('{"text": "[MASK]", "accept": ["秘"]}\n\n[]', "line 3 is not a JSON object"),
        ('{"text": "秘密", "accept": ["秘"]}', 'line 1: "text" must be a string with one [MASK]'),
        ('{"text": "[MASK]", "accept": []}', '"accept" must be a list of strings'),
        ('{"a": "秘密", "b": "秘密"}', '"label" must be a number'),
        ('{"a": "秘密", "b": "秘密", "label": NaN}', '"label" must be a number'),
        ('{"a": "秘密", "label": 1}', 'needs "text" and "accept", or "a", "b", "label"'),
    ],
)
def test_a_wrong_file_is_one_sentence_without_its_text(write: Write, text: str, said: str) -> None:
    with pytest.raises(DataError) as error:
        samples.read(write(text))
    assert said in str(error.value)
    assert "秘" not in str(error.value)


def test_errors_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, write: Write
) -> None:
    assert main([str(tmp_path / "none")]) == 1
    assert "No such file" in capsys.readouterr().err
    hopeless = write('{"text": "[MASK]", "accept": ["苹果"]}')
    assert main([str(hopeless), "--model", str(MODEL)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert main([str(PROBES), "--model", str(tmp_path)]) == 1
    assert "There is no model.json" in capsys.readouterr().err


def test_the_table_shows_what_the_json_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(PROBES), "--model", str(MODEL)]) == 0
    shown = capsys.readouterr().out
    score = scored(capsys, PROBES)["scores"]["all"]
    row = next(line for line in shown.splitlines() if line.startswith("all"))
    shares = [f"{score[name]:.4f}" for name in ("top1", "top5", "mrr")]
    assert row.split() == ["all", "62", *shares]
