"""The application on a real socket: as `serve` has it, and behind a gateway that makes events."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from support.http_events_made import answer, dressed
from support.loopback import HOST
from support.samples import Event


@contextmanager
def on_uvicorn(app: ASGIApp) -> Iterator[str]:
    """The URL of the application on a port of its own, until the block ends."""
    with socket.create_server((HOST, 0)) as listening:
        config = uvicorn.Config(
            app, log_level="warning", lifespan="off", ws="none", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, args=([listening],))
        thread.start()

        try:
            yield f"http://{HOST}:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def on_lambda() -> Iterator[str]:
    """The URL of an HTTP API in front of handler.handler."""
    import handler  # loads the model

    with on_uvicorn(gateway(handler.handler)) as url:
        yield url


def gateway(handle: Callable[[Event, Any], Any], stage: str = "") -> ASGIApp:
    """An HTTP API in front of a Lambda function.

    Requests become events (payload 2.0), the function's answers responses. A named `stage` is part
    of every path.
    """

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        path = scope["raw_path"].decode("ascii")
        event = dressed(
            "http_api_v2",
            path.removeprefix(f"/{stage}") if stage else path,
            _as_sent(await request.body()),
            method=request.method,
            stage=stage,
            headers=dict(request.headers),
        )

        reply = answer(await asyncio.to_thread(handle, event, None))
        await Response(reply.body, reply.status, reply.headers)(scope, receive, send)

    return application


def _as_sent(body: bytes) -> bytes | str:
    """Text as text; only what is no text travels as base64."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body
