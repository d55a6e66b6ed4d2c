"""Fixtures every test module may use."""

import pytest

from dynamodb_local import dynamodb_local
from fillmask import cache_table
from sqs_local import sqs_local

__all__ = ["dynamodb_local", "sqs_local"]


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lift the table cache's limits on time, for tests of what it does and not how fast.

    A busy machine and a young Java must not turn such a test into one of a time-out.
    """
    for name in ("TIMEOUT_SECONDS", "READ_SECONDS", "WRITE_SECONDS"):
        monkeypatch.setattr(cache_table, name, 30)
