"""Fixtures of the tests that make their own table caches."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from support.clock import Clock
from support.table_caches import Opener


@pytest.fixture
def clock() -> Clock:
    """Of the breakers of `opened`."""
    return Clock()


@pytest.fixture
def opened(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opener]:
    """Opens table caches that are closed after the test."""
    with ExitStack() as stack:
        yield Opener(stack, clock, monkeypatch)
