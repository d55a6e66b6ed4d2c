"""The folder a model is put in: what is there stays unless it is an earlier model."""

from pathlib import Path

import pytest

from builder.model.__main__ import main

pytestmark = pytest.mark.usefixtures("few_sentences")


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("source", "is the checkpoint's folder or holds it"),
        (".", "is the checkpoint's folder or holds it"),
        ("source/../source", "is the checkpoint's folder"),
        ("here", "is the current folder"),
        ("full", "has no model.json"),
        ("file", "is not a folder"),
        ("link", "is not a folder"),
    ],
)
def test_what_is_no_model_is_not_replaced(
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    out: str,
    says: str,
) -> None:
    top = source.parent
    for folder in ("here/below", "full", "empty"):
        (top / folder).mkdir(parents=True)
        (top / folder / "precious").touch()
    (top / "file").touch()
    (top / "link").symlink_to(top / "empty")
    monkeypatch.chdir(top / "here" / "below")

    before = sorted(top.rglob("*"))
    assert main([str(source), "--out", str(top / out), "--force"]) == 1
    said = capsys.readouterr().err
    assert says in said
    assert "reading" not in said
    assert sorted(top.rglob("*")) == before


def test_a_card_stays_with_the_model_it_describes(source: Path) -> None:
    out = source.parent / "out"
    out.mkdir()
    for name, stays in (("one", False), ("one", True), ("other", False)):
        assert main([str(source), "--out", str(out), "--force", "--name", name]) == 0
        assert (out / "MODEL_CARD.md").exists() is stays
        (out / "MODEL_CARD.md").write_text("about one")
