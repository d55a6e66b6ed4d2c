"""A model for embeddings alone, by every way in: it embeds, and says that it cannot fill blanks."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from builder.checkpoint import hub
from builder.model import build, verify
from fillmask.queue.messages import QueueAdapter
from fillmask.settings import Settings
from fillmask.start import Loader
from support import checkpoints
from support.lambda_cases import get
from support.paths import PYTHONPATH, TESTS
from support.queue_doubles import Results, failures, plenty
from support.queue_doubles import event as messages
from support.samples import sample_event

BLANK = {"text": "丁[MASK]", "top_k": 1}
INPUT = {"input": ["丁七", "不"]}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small random encoder with CLS pooling."""
    folder = tmp_path_factory.mktemp("encoder")
    source = checkpoints.sentence_transformer(
        folder / "source", {"pooling_mode": "cls"}, **checkpoints.SMALL
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "sentences", lambda: ["丁七上下。"])
        build.build(hub.find(str(source)), folder / "model", task="embed")
    return folder / "model"


def answers(model: Path, *events: Any) -> list[Any]:
    """What the handler of a fresh process answers to each."""
    done = subprocess.run(
        [sys.executable, str(TESTS / "support" / "answer_events.py")],
        input="\n".join(map(json.dumps, events)),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=os.environ
        | {"FILLMASK_MODEL_DIR": str(model), "FILLMASK_THREADS": "1", "PYTHONPATH": PYTHONPATH},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def post(path: str, body: Any) -> dict[str, Any]:
    asked = sample_event("http_api_v2")
    asked["requestContext"]["http"] |= {"path": path}
    return {**asked, "rawPath": path, "body": json.dumps(body)}


def test_every_door_embeds(model: Path) -> None:
    direct, http, hf, similar, warm = answers(
        model,
        {"operation": "embed", **INPUT},
        post("/v1/embeddings", INPUT),
        post("/hf/feature-extraction", {"inputs": INPUT["input"]}),
        post("/v1/similarity", {"texts": ["丁七"], "against": ["丁七", "不"]}),
        {},
    )
    assert len(direct["data"][0]["embedding"]) == 64
    assert json.loads(http["body"]) == direct
    assert json.loads(hf["body"]) == [row["embedding"] for row in direct["data"]]
    assert json.loads(similar["body"])["matrix"][0][0] == pytest.approx(1)
    assert warm == {"ok": True}


def test_every_door_says_that_blanks_cannot_be_filled(model: Path) -> None:
    direct, http, hf = answers(
        model, BLANK, post("/v1/fill-mask", BLANK), post("/hf/fill-mask", {"inputs": BLANK["text"]})
    )
    assert (direct["code"], direct["status"]) == ("operation_unavailable", 404)
    assert direct["detail"] == "The model source has no head for fill-mask."
    for answer, more in (
        (http, {}),
        (hf, {"error": direct["detail"]}),
    ):  # where Hugging Face's clients look for it
        assert answer["statusCode"] == 404
        assert answer["headers"]["content-type"] == "application/problem+json"
        assert json.loads(answer["body"]) == direct | more


def test_info_tells_the_tasks(model: Path) -> None:
    (answer,) = answers(model, get("/info"))
    told = json.loads(answer["body"])["model"]
    assert told["tasks"] == ["embed"]
    assert told["pooling"] == {"mode": "cls", "special_tokens": True}


def test_a_queue_answers_embeddings_and_refuses_blanks(model: Path) -> None:
    batch = messages({"operation": "embed", "id": 1, **INPUT}, BLANK)
    (answer,) = answers(model, batch)
    assert failures(answer) == ["m2"]  # without a result queue the dead-letter queue keeps it
    service = Loader(Settings.from_env({"FILLMASK_MODEL_DIR": str(model), "FILLMASK_THREADS": "1"}))
    results = Results()
    adapter = QueueAdapter(lambda operation, request: service().answer(operation, request), results)
    assert failures(adapter.answer(batch, plenty)) == []
    embedded, refused = results.bodies
    assert (embedded["id"], len(embedded["result"]["data"])) == (1, 2)
    assert refused["error"]["code"] == "operation_unavailable"
