"""What is made ready before the first event, where nobody waits for initialisation."""

import logging
import random
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import pytest

from fillmask.errors import EngineUnavailable
from fillmask.http.gateways import Request
from fillmask.settings import Settings
from fillmask.start import make_ready

PROVISIONED: Final = {"AWS_LAMBDA_INITIALIZATION_TYPE": "provisioned-concurrency"}
SNAP_START: Final = {"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}


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
    make_ready(loaded, loaded, Settings.from_env(environment))
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
