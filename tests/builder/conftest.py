"""What tests of the builder share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from builder.model import verify
from builder.model.__main__ import main
from support import checkpoints


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small checkpoint that can be built, in the form of bert-base-chinese."""
    return checkpoints.write(tmp_path / "source", **checkpoints.SMALL)


@pytest.fixture
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short comparison with float32, for tests that are not about it."""
    monkeypatch.setattr(verify, "sentences", lambda: ["七上八下。", "ab丁七不c!"])


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[[Path], str]:
    """Tries to build a checkpoint, which must leave nothing behind, and gives the one error."""

    def build(source: Path) -> str:
        assert main([str(source), "--out", str(source.parent / "out"), "--force"]) == 1
        assert [path.name for path in source.parent.iterdir()] == ["source"]

        lines = capsys.readouterr().err.splitlines()
        (error,) = [line for line in lines if line.startswith("error: ")]
        return error

    return build
