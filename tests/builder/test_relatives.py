"""BERT's relatives: float32 equals transformers, and INT8 stays close, alone or in a batch."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from builder.checkpoint import wordpiece
from builder.checkpoint.errors import CheckpointError
from builder.checkpoint.reading import Checkpoint
from builder.graph import model_graph
from builder.graph.precision import Float32
from builder.model.__main__ import main
from fillmask.model import manifest
from fillmask.model.contract import TARGET_SCORES, Prediction, Query
from fillmask.model.feeds import encoder_feeds, head_feeds
from fillmask.model.onnx_engine import OnnxEngine
from support import relatives
from support.checkpoint_forms import config, without
from support.paths import GOLDEN, LAYER, TESTS
from support.relatives import QUERIES, RELATIVES

pytestmark = pytest.mark.usefixtures("few_sentences")

VOCABULARY = list(range(200))
ROUNDED = 0.05  # the most that INT8 moves a log-probability of these checkpoints


@pytest.fixture(scope="module")
def golden() -> Any:
    """Arrays made by tests/golden/make_relatives.py."""
    with np.load(GOLDEN / "relatives.npz") as stored:
        return dict(stored)


def built(source: Path) -> Path:
    out = source.parent / "out"
    assert main([str(source), "--out", str(out), "--force", "--name", "small"]) == 0
    return out


def predicted(model: Path, queries: list[Query]) -> list[list[Prediction]]:
    engine = OnnxEngine.load(model, manifest.read(model), threads=1)
    return engine.predict(queries, 5, True, VOCABULARY)


@pytest.mark.parametrize("name", RELATIVES)
def test_the_float32_graph_equals_transformers(tmp_path: Path, golden: Any, name: str) -> None:
    checkpoint = Checkpoint.load(RELATIVES[name](tmp_path / "source"))
    allowed = wordpiece.allowed(checkpoint.tokenizer.tokens)
    graph = model_graph.write(checkpoint, Float32(), allowed).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])

    for number, (ids, positions) in enumerate(QUERIES):
        head = head_feeds(len(positions), subwords=True, k=1, targets=VOCABULARY)
        feeds = encoder_feeds([Query(ids, positions)]) | head
        (scores,) = session.run([TARGET_SCORES], feeds)
        assert np.abs(scores - golden[f"{name}_{number}"]).max() <= 1e-4


def test_the_stored_numbers_tell_the_architectures_apart(golden: Any) -> None:
    """What one has and another has not, such as a table of tasks, moves them far over the bound."""
    apart = [golden["ernie_0"], golden["distilbert_0"], golden["electra_0"]]
    for number, one in enumerate(apart):
        assert all(np.abs(one - other).max() > 1e-2 for other in apart[:number])


@pytest.mark.parametrize("name", RELATIVES)
def test_int8_is_close_and_does_not_depend_on_the_batch(
    tmp_path: Path, golden: Any, name: str
) -> None:
    model = built(RELATIVES[name](tmp_path / "source"))
    queries = [Query(*query) for query in QUERIES]
    together = predicted(model, queries)

    assert together == [predicted(model, [query])[0] for query in queries]
    for number, answers in enumerate(together):
        scores = np.array([answer.targets for answer in answers])
        assert np.abs(scores - golden[f"{name}_{number}"]).max() <= ROUNDED


@pytest.mark.slow
@pytest.mark.valgrind
def test_the_same_answers_with_avx2_alone(tmp_path: Path) -> None:
    models = [str(built(write(tmp_path / name / "source"))) for name, write in RELATIVES.items()]
    command = [sys.executable, str(TESTS / "support" / "predict_ids.py"), *models]
    environment = os.environ | {
        "PYTHONPATH": f"{LAYER}:{TESTS}",
        "OMP_NUM_THREADS": "1",
        "PYTHONMALLOC": "malloc",
    }
    here, avx2 = (
        json.loads(
            subprocess.run(
                [*wrapper, *command],
                env=environment,
                capture_output=True,
                text=True,
                timeout=240,
                check=True,
            ).stdout
        )
        for wrapper in ([], ["valgrind", "--tool=none", "--quiet"])
    )
    assert np.array(here).shape == (len(models), 4, len(VOCABULARY))
    assert np.abs(np.array(here) - np.array(avx2)).max() <= ROUNDED / 5


def test_a_task_table_has_to_be_there_and_to_be_switched_on(tmp_path: Path) -> None:
    source = relatives.ernie(tmp_path / "source")
    config(source, use_task_id=False)
    with pytest.raises(
        CheckpointError, match=r"task_type_embeddings\.weight, and 'ernie' has none"
    ):
        Checkpoint.load(source)

    config(source, use_task_id=True)
    without(source, "ernie.embeddings.task_type")
    with pytest.raises(CheckpointError, match=r"no tensor embeddings\.task_type_emb"):
        Checkpoint.load(source)
