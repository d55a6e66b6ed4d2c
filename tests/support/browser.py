"""A browser for the tests of the page, and the real application on a real port.

Debian's Chromium by Playwright; the fixtures are those of tests/page/conftest.py. `Tab` is a page
that keeps everything a console would show in red.
"""

import json
import shlex
import shutil
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from fillmask.http.app import create_app
from fillmask.settings import Settings
from fillmask.start import Loader
from support.paths import MODEL
from support.servers import on_uvicorn

ARGUMENTS: Final = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# For anything on the page to happen: nothing takes a second on a free machine.
WAIT_MILLISECONDS: Final = 10_000


class Tab:
    """One tab and what went wrong in it.

    `errors` leaves out the console's own line for each answer that is an HTTP error: those are for
    the page to show.
    """

    def __init__(self, browser: Browser, origin: str, **options: Any) -> None:
        self.origin = origin
        self.context = browser.new_context(
            **{"locale": "zh-CN", "reduced_motion": "reduce"} | options
        )
        self.context.set_default_timeout(WAIT_MILLISECONDS)
        self.page: Page = self.context.new_page()
        self.errors: list[str] = []
        self.page.on("console", lambda message: self._hear(message.type, message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not text.startswith("Failed to load resource"):
            self.errors.append(text)

    def open(self, path: str = "/") -> "Tab":
        """Opens the page and waits for the answer to its first sentence."""
        self.page.goto(self.origin + path)
        self.page.locator("#fill-answer .pick").first.wait_for()
        return self

    def settle(self, tab: str = "fill") -> None:
        """Waits until no request of that tab is on its way."""
        self.page.locator(f"#{tab}-answer[aria-busy=false]").wait_for()

    def ask(self, text: str) -> None:
        """Puts the text into the field and presses the key that asks."""
        self.page.locator("#text").fill(text)
        self.page.locator("#text").press("Control+Enter")
        self.settle()

    def select(self, start: int, end: int) -> None:
        """Selects in the field, in UTF-16 units as the browser counts."""
        self.page.locator("#text").focus()
        self.page.locator("#text").evaluate(
            "(area, [start, end]) => area.setSelectionRange(start, end)", [start, end]
        )

    @property
    def text(self) -> str:
        """What the field holds."""
        return str(self.page.locator("#text").input_value())

    def tokens(self, name: int | str = 0) -> list[str]:
        """The candidates of a list, in order."""
        found = self.page.locator(f"[data-list='{name}'] .pick > b")
        return list(found.evaluate_all("nodes => nodes.map(node => node.firstChild.textContent)"))

    def sent(self) -> Any:
        """The body of the request that the page says it sent last."""
        line = self.page.locator("#curl").text_content() or ""
        return json.loads(shlex.split(line)[-1])

    def answer(self) -> Any:
        """The answer that the page shows as JSON."""
        return json.loads(self.page.locator("#json").text_content() or "")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, for all tests of the folder.

    It does not outlive them: while it runs, Playwright keeps an asyncio loop on this thread.
    """
    path = shutil.which("chromium")
    assert path, "Chromium is needed: apt-get install chromium"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="package")
def origin() -> Iterator[str]:
    """Where the real application is served, on the embedded model."""
    settings = Settings.from_env({"FILLMASK_MODEL_DIR": str(MODEL), "FILLMASK_THREADS": "1"})
    with on_uvicorn(create_app(Loader(settings), settings)) as address:
        yield address


@pytest.fixture(scope="package")
def window(browser: Browser, origin: str) -> Iterator[Tab]:
    """One tab for all tests of the folder: a new one costs more than the page."""
    shared = Tab(browser, origin)
    yield shared
    shared.context.close()


@pytest.fixture
def tab(window: Tab) -> Iterator[Tab]:
    """The page, open in Chinese, as for a new visitor; ends with a clean console or fails."""
    yield window.open()
    window.page.unroute_all()
    window.page.evaluate("localStorage.clear()")
    errors, window.errors = window.errors, []
    assert errors == []
