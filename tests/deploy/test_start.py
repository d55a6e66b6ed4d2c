"""The service put together: what is loaded, how loading fails, and what it imports."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fillmask.cache.lazy import LazyTableCache
from fillmask.errors import EngineUnavailable
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.settings import Settings
from fillmask.start import Future, Loader
from support import embedded
from support.http_cases import TEXT
from support.paths import MODEL, ROOT


def settings(**environment: str) -> Settings:
    return Settings.from_env({"FILLMASK_MODEL_DIR": str(MODEL), **environment})


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the engine was asked to load, in place of loading it once more."""
    asked: list[dict[str, Any]] = []
    engine = embedded.engine()

    def load(folder: Path, manifest: Any, threads: int, packed: bool) -> OnnxEngine:
        asked.append({"folder": folder, "threads": threads, "packed": packed})
        return engine

    monkeypatch.setattr(OnnxEngine, "load", load)
    return asked


def test_the_service_is_made_once_and_answers(loaded: list[dict[str, Any]]) -> None:
    loader = Loader(settings(FILLMASK_THREADS="3"))
    loader.finish()
    assert loader() is loader()
    assert loaded == [{"folder": MODEL, "threads": 3, "packed": False}]
    (result,) = loader.answer("fill-mask", {"text": TEXT})["results"]
    assert result["masks"][0]["candidates"][0]["token"] == "上"


def test_without_a_setting_threads_follow_the_memory(loaded: list[dict[str, Any]]) -> None:
    Loader(settings(AWS_LAMBDA_FUNCTION_MEMORY_SIZE="128")).finish()
    assert loaded[0]["threads"] == 1


@pytest.mark.parametrize("initialization", ["provisioned-concurrency", "snap-start"])
def test_where_time_is_free_the_engine_is_packed_at_once(
    initialization: str, loaded: list[dict[str, Any]]
) -> None:
    Loader(settings(AWS_LAMBDA_INITIALIZATION_TYPE=initialization)).finish()
    assert loaded[0]["packed"] is True


def test_answers_are_remembered_unless_that_is_switched_off(loaded: list[dict[str, Any]]) -> None:
    for size, cached in (("33554432", True), ("0", False)):
        loader = Loader(settings(FILLMASK_MEMORY_CACHE_BYTES=size))
        loader.answer("fill-mask", {"text": TEXT})
        (again,) = loader.answer("fill-mask", {"text": TEXT})["results"]
        assert again["cached"] is cached


def test_there_is_a_table_where_one_is_named(loaded: list[dict[str, Any]]) -> None:
    alone, shared = Loader(settings()), Loader(settings(FILLMASK_TABLE="answers"))
    alone.finish()
    shared.finish()
    assert alone.table is None
    assert isinstance(shared.table, LazyTableCache)


def _spoil_manifest(folder: Path) -> None:
    (folder / "model.json").write_text("{")


def _spoil_graph(folder: Path) -> None:
    graph = folder / "cold.onnx"
    graph.write_bytes(b"\xff" * graph.stat().st_size)


def _spoil_tokenizer(folder: Path) -> None:
    tokenizer = folder / "tokenizer.json"
    tokenizer.write_bytes(b"\xff" * tokenizer.stat().st_size)


@pytest.mark.parametrize("spoil", [_spoil_manifest, _spoil_graph, _spoil_tokenizer])
def test_a_model_that_does_not_load_is_logged_once_and_raised_by_every_call(
    spoil: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(MODEL, folder)
    spoil(folder)
    loader = Loader(settings(FILLMASK_MODEL_DIR=str(folder)))
    loader.finish()
    for _ in range(2):
        with pytest.raises(EngineUnavailable) as caught:
            loader()
        assert str(tmp_path) not in caught.value.detail
    (line,) = caplog.messages
    assert line.startswith("the model could not be loaded: ")
    assert str(folder) in line


def test_a_fault_on_the_loading_thread_is_raised_where_the_service_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> OnnxEngine:
        raise ZeroDivisionError

    monkeypatch.setattr(OnnxEngine, "load", fail)
    loader = Loader(settings())
    for wanted in (loader.finish, loader):
        with pytest.raises(ZeroDivisionError):
            wanted()


def test_a_future_gives_its_value_to_everyone_who_asks() -> None:
    future = Future(lambda: [1])
    assert future.result() is future.result()


def test_an_answer_imports_nothing_that_it_does_not_need() -> None:
    """Each of these would make every cold start longer."""
    script = (
        "import json, sys, handler\n"
        "handler.handler(json.loads(sys.argv[1]), None)\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps({"text": TEXT})],
        env={"PYTHONPATH": "layer", "FILLMASK_MODEL_DIR": str(MODEL), "FILLMASK_TABLE": "answers"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(json.loads(done.stdout))
    assert {"fillmask.start", "fillmask.http.application", "onnxruntime"} <= loaded
    assert not loaded & {"random", "uuid", "dataclasses", "asyncio", "concurrent.futures"}
    assert not loaded & {"fastapi", "mangum", "pydantic", "boto3", "fillmask.http.app"}
