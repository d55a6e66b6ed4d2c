"""The service put together: what loading does on its thread, how it fails, what is made ready."""

import json
import logging
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fillmask.cache.lazy import LazyTableCache
from fillmask.errors import EngineUnavailable
from fillmask.http.gateways import Request
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.settings import Settings
from fillmask.start import Future, Loader, make_ready
from support import embedded
from support.http_cases import TEXT
from support.paths import MODEL, ROOT

PROVISIONED = {"AWS_LAMBDA_INITIALIZATION_TYPE": "provisioned-concurrency"}
SNAP_START = {"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}


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


# Loading


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


@pytest.mark.parametrize("environment", [PROVISIONED, SNAP_START])
def test_where_time_is_free_the_engine_is_packed_at_once(
    environment: dict[str, str], loaded: list[dict[str, Any]]
) -> None:
    Loader(settings(**environment)).finish()
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
    assert not loaded & {"random", "dataclasses", "asyncio", "concurrent.futures"}
    assert not loaded & {"fastapi", "mangum", "pydantic", "boto3", "fillmask.http.app"}


# Made ready before the first event


class Table:
    """A table cache that is told to connect and to disconnect."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def connect_now(self) -> None:
        self.told.append("connect")

    def disconnect(self) -> None:
        self.told.append("disconnect")


class Loaded:
    """A loader that has finished, or failed; and the application, which notes what it is asked."""

    def __init__(self, table: Table | None, *, failed: bool = False) -> None:
        self.table = table
        self.requests: list[str] = []
        self.warm_ups = 0
        self._failed = failed

    def __call__(self) -> "Loaded":
        if self._failed:
            raise EngineUnavailable("no model")
        return self

    def warm_up(self) -> None:
        self.warm_ups += 1

    def answer(self, request: Request) -> None:
        self.requests.append(f"{request.method} {request.route}")


def ready(loaded: Any, environment: dict[str, str]) -> Any:
    make_ready(loaded, loaded, settings(**environment))
    return loaded


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Callable[[], Any]]]:
    """What was registered with Lambda's runtime, which is not on this machine."""
    registered: dict[str, list[Callable[[], Any]]] = {"before": [], "after": []}
    runtime: Any = ModuleType("snapshot_restore_py")
    runtime.register_before_snapshot = registered["before"].append
    runtime.register_after_restore = registered["after"].append
    monkeypatch.setitem(sys.modules, "snapshot_restore_py", runtime)
    return registered


@pytest.mark.parametrize("table", [None, Table()])
def test_framework_model_and_table_are_used_once(table: Table | None) -> None:
    done = ready(Loaded(table), PROVISIONED)
    assert (done.requests, done.warm_ups) == (["GET /health"], 1)
    assert table is None or table.told == ["connect"]


def test_a_snapshot_is_taken_without_a_connection(
    hooks: dict[str, list[Callable[[], Any]]],
) -> None:
    table = Table()
    assert ready(Loaded(table), SNAP_START).warm_ups == 1
    assert table.told == ["connect"]
    for hook in hooks["before"]:
        hook()
    assert table.told == ["connect", "disconnect"]


def test_the_copies_of_a_snapshot_do_not_share_their_random_numbers(
    hooks: dict[str, list[Callable[[], Any]]],
) -> None:
    ready(Loaded(None), SNAP_START)
    assert hooks["before"] == []
    state = random.getstate()
    same = random.random()
    random.setstate(state)
    for hook in hooks["after"]:
        hook()
    assert random.random() != same


@pytest.mark.parametrize("environment", [PROVISIONED, SNAP_START])
def test_without_a_model_the_framework_alone_is_ready(
    environment: dict[str, str],
    hooks: dict[str, list[Callable[[], Any]]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)
    table = Table()
    done = ready(Loaded(table, failed=True), environment)
    assert done.requests == ["GET /health"]
    assert (table.told, hooks, caplog.messages) == ([], {"before": [], "after": []}, [])
