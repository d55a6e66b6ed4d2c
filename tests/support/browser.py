"""A browser for the tests of the page: Debian's Chromium by Playwright, and the real application on a real port.

A pytest plugin (`pytest_plugins = ["browser"]`). `served` runs any ASGI application on an ephemeral port; `gateway`
is one that does what an HTTP API with a named stage does: it turns requests into events for the Lambda path and
its answers back. `Tab` is a page that keeps everything a console would show in red. No test is in here.
"""

import asyncio
import base64
import json
import shlex
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from fillmask.http.app import create_app
from fillmask.settings import Settings
from fillmask.start import Loader
from support.http_service import HttpEvents

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_SECONDS = 20
WAIT_MILLISECONDS = (
    10_000  # for anything on the page to happen; nothing takes a second on a free machine
)


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """The origin under which `app` is served until the block ends."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            app, log_level="warning", ws="none", lifespan="off", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not server.started and thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        try:
            assert server.started
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def gateway(events: HttpEvents, stage: str) -> ASGIApp:
    """An HTTP API (payload 2.0) with a stage in its paths, in front of the Lambda path."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        event = {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": scope["path"],
            "rawQueryString": scope["query_string"].decode(),
            "headers": dict(request.headers),
            "requestContext": {
                "stage": stage,
                "http": {
                    "method": scope["method"],
                    "path": scope["path"],
                    "protocol": "HTTP/1.1",
                    "sourceIp": "127.0.0.1",
                },
            },
            "body": base64.b64encode(await request.body()).decode(),
            "isBase64Encoded": True,
        }
        answer = await asyncio.to_thread(events.answer, event, None)
        body = answer["body"].encode()
        assert not answer["isBase64Encoded"]
        await Response(body, answer["statusCode"], answer["headers"])(scope, receive, send)

    return app


class Tab:
    """One tab and what went wrong in it. `errors` leaves out the console's own line for each answer that is an
    HTTP error: those are for the page to show."""

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
        """The page with the answer to its first sentence."""
        self.page.goto(self.origin + path)
        self.page.locator("#fill-answer .pick").first.wait_for()
        return self

    def settle(self, tab: str = "fill") -> None:
        """Wait until no request of that tab is on its way."""
        self.page.locator(f"#{tab}-answer[aria-busy=false]").wait_for()

    def ask(self, text: str) -> None:
        """Put the text into the field and press the key that asks."""
        self.page.locator("#text").fill(text)
        self.page.locator("#text").press("Control+Enter")
        self.settle()

    def select(self, start: int, end: int) -> None:
        """A selection in the field, in UTF-16 units as the browser counts."""
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium. While it runs, Playwright keeps an asyncio loop on this thread: hence once a module."""
    path = shutil.which("chromium")
    assert path, "Chromium is needed: apt-get install chromium"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """Where the real application is served, on the embedded model."""
    settings = Settings.from_env({"FILLMASK_MODEL_DIR": "layer/model", "FILLMASK_THREADS": "1"})
    with served(create_app(Loader(settings), settings)) as address:
        yield address


@pytest.fixture(scope="module")
def window(browser: Browser, origin: str) -> Iterator[Tab]:
    """One tab for the tests of a module: a new one costs more than the page."""
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
