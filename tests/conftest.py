"""Fixtures every test module may use, and the markers of what a test needs from the machine."""

import os
from typing import Final

import pytest

from support.paths import MODEL

# handler.py reads the environment when it is imported, which comes next.
os.environ["FILLMASK_MODEL_DIR"] = str(MODEL)

from fillmask.cache import table as cache_table
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.service import Service
from support import embedded
from support.dynamodb_local import dynamodb_local
from support.sqs_local import sqs_local

__all__ = ["dynamodb_local", "sqs_local"]

# What a fixture needs besides Python packages: a marker of .pytest.ini.
NEEDS: Final = {
    "browser": "browser",
    "dynamodb_local": "java",
    "strace": "strace",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks each test with what its fixtures need, so that `-m` can leave it out."""
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in NEEDS:
                item.add_marker(NEEDS[fixture])


@pytest.fixture(scope="session")
def engine() -> OnnxEngine:
    """The embedded model's engine."""
    return embedded.engine()


@pytest.fixture(scope="session")
def codec() -> TextCodec:
    """The embedded model's tokenizer."""
    return embedded.codec()


@pytest.fixture(scope="session")
def service() -> Service:
    """The service on the embedded model, with a cache that keeps nothing."""
    return embedded.service()


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lifts the table cache's limits on time, for tests of what it does and not how fast.

    A busy machine and a young Java must not turn such a test into one of a time-out.
    """
    for name in ("TIMEOUT_SECONDS", "READ_SECONDS", "WRITE_SECONDS", "SLOW_CALL_SECONDS"):
        monkeypatch.setattr(cache_table, name, 30)
