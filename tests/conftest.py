"""Fixtures every test module may use."""

import os

import pytest

from support.paths import MODEL, ROOT

os.chdir(ROOT)
os.environ["FILLMASK_MODEL_DIR"] = str(
    MODEL
)  # before handler.py, the reader of the environment, is imported

from fillmask.cache import table as cache_table
from fillmask.cache.memory import MemoryCache
from fillmask.model import manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.service import Service
from support.dynamodb_local import dynamodb_local
from support.sqs_local import sqs_local

__all__ = ["dynamodb_local", "sqs_local"]


@pytest.fixture(scope="session")
def engine() -> OnnxEngine:
    """The embedded model's engine."""
    return OnnxEngine.load(MODEL, manifest.read(MODEL), threads=1)


@pytest.fixture(scope="session")
def codec(engine: OnnxEngine) -> TextCodec:
    """The embedded model's tokenizer."""
    return TextCodec.load(MODEL, engine.manifest)


@pytest.fixture(scope="session")
def service(engine: OnnxEngine, codec: TextCodec) -> Service:
    """The service on the embedded model, with a cache that keeps nothing."""
    return Service(engine, codec, MemoryCache(0, 1))


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lift the table cache's limits on time, for tests of what it does and not how fast.

    A busy machine and a young Java must not turn such a test into one of a time-out.
    """
    for name in ("TIMEOUT_SECONDS", "READ_SECONDS", "WRITE_SECONDS"):
        monkeypatch.setattr(cache_table, name, 30)
