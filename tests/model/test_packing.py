"""A cold start's session packs nothing and gives way to a packed one after the first answer."""

import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt
import onnxruntime
import pytest

from builder.model import verify
from fillmask.errors import EngineUnavailable
from fillmask.model import onnx_engine
from fillmask.model.contract import Prediction, Query
from fillmask.model.feeds import Feeds
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from support.paths import MODEL


@pytest.fixture(scope="module")
def queries(engine: OnnxEngine, codec: TextCodec) -> list[Query]:
    """Sentences with one mask each."""
    described = engine.manifest
    blanks = verify.blanks(codec, described)
    return blanks[:60:2]


def predict(engine: OnnxEngine, batch: Sequence[Query]) -> list[list[Prediction]]:
    return engine.predict(batch, 10, False, [100, 200, 300])


def wait_for_packing() -> None:
    for thread in threading.enumerate():
        if thread.name == "pack":
            thread.join()


class Opened:
    """Opens sessions as the engine does, and counts the runs of each by the name of its file."""

    def __init__(self) -> None:
        self.spinning: dict[str, str] = {}
        self.runs: Counter[str] = Counter()
        self._open = onnx_engine.open_session

    def __call__(self, path: Path, options: onnxruntime.SessionOptions) -> "Counted":
        self.spinning[path.name] = options.get_session_config_entry(
            "session.intra_op.allow_spinning"
        )
        return Counted(self._open(path, options), self.runs, path.name)


class Counted:
    """A session that counts its runs."""

    def __init__(
        self, session: onnxruntime.InferenceSession, runs: Counter[str], name: str
    ) -> None:
        self.get_modelmeta = session.get_modelmeta
        self._session, self._runs, self._name = session, runs, name

    def run(self, outputs: Sequence[str], feeds: Feeds) -> list[npt.NDArray[Any]]:
        self._runs[self._name] += 1
        return list(self._session.run(outputs, feeds))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Everything that is opened during the test."""
    made = Opened()
    monkeypatch.setattr(onnx_engine, "open_session", made)
    return made


def test_unpacked_weights_give_the_same_numbers_and_give_way_to_packed_ones(
    engine: OnnxEngine, queries: list[Query], opened: Opened
) -> None:
    cold = OnnxEngine.load(MODEL, engine.manifest, threads=1, packed=False)

    assert predict(cold, queries[:1]) == predict(engine, queries[:1])
    assert set(opened.spinning) == {"cold.onnx"}, "nothing is packed during the first answer"

    for query in queries:
        assert predict(cold, [query]) == predict(engine, [query])
    wait_for_packing()

    before = opened.runs.copy()
    assert predict(cold, queries) == predict(engine, queries)
    assert opened.runs["cold.onnx"] == before["cold.onnx"]
    assert opened.runs["model.onnx"] > before["model.onnx"], "the packed one has taken over"


def test_a_packed_session_that_cannot_be_built_leaves_the_first_one_at_work(
    engine: OnnxEngine,
    queries: list[Query],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cold = OnnxEngine.load(MODEL, engine.manifest, threads=1, packed=False)

    def refuse(path: Path, options: onnxruntime.SessionOptions) -> onnxruntime.InferenceSession:
        raise EngineUnavailable("no memory")

    monkeypatch.setattr(onnx_engine, "open_session", refuse)
    for query in queries[:3]:
        assert predict(cold, [query]) == predict(engine, [query])
    wait_for_packing()

    assert predict(cold, queries[:3]) == predict(engine, queries[:3])
    (record,) = caplog.records
    assert "no memory" in record.getMessage()


def test_threads_spin_once_the_imports_are_over(engine: OnnxEngine, opened: Opened) -> None:
    OnnxEngine.load(MODEL, engine.manifest, threads=2, packed=False)
    OnnxEngine.load(MODEL, engine.manifest, threads=2)
    assert opened.spinning == {"cold.onnx": "0", "model.onnx": "1"}
