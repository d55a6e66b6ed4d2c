"""The page on a model for embeddings alone: blanks are refused in plain words, similarity works."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from builder.checkpoint import hub
from builder.model import build, verify
from fillmask.http.app import create_app
from fillmask.settings import Settings
from fillmask.start import Loader
from support import checkpoints
from support.browser import Tab
from support.servers import on_uvicorn


def test_the_page_says_what_the_model_cannot_do(
    browser: Browser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verify, "sentences", lambda: ["丁七上下。"])
    source = checkpoints.sentence_transformer(
        tmp_path / "encoder", {"pooling_mode": "cls"}, **checkpoints.SMALL
    )
    build.build(hub.find(str(source)), tmp_path / "model", task="embed")
    settings = Settings.from_env(
        {"FILLMASK_MODEL_DIR": str(tmp_path / "model"), "FILLMASK_THREADS": "1"}
    )
    with on_uvicorn(create_app(Loader(settings), settings)) as origin:
        for locale, title in (
            ("zh-CN", "当前模型不会做这件事"),
            ("en-GB", "The loaded model cannot do this"),
        ):
            tab = Tab(browser, origin, locale=locale)
            tab.page.goto(origin)
            alert = tab.page.get_by_role("alert")
            expect(alert.locator("h2")).to_have_text(title)
            expect(alert).to_contain_text("The model encoder has no head for fill-mask.")
            tab.page.locator("#tab-sim").click()
            expect(tab.page.locator(".score")).to_be_visible()
            assert tab.errors == []
            tab.context.close()
