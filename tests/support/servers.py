"""The application on a real socket: on uvicorn, as `serve` does, and behind a gateway that asks the handler."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import uvicorn
from starlette.types import ASGIApp

import handler
from support.http_events_made import answer, dressed

HOST = "127.0.0.1"


@contextmanager
def on_uvicorn(app: ASGIApp) -> Iterator[str]:
    """The URL of the application on a port of its own."""
    with socket.create_server((HOST, 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none"))
        thread = Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://{HOST}:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def on_lambda() -> Iterator[str]:
    """The URL of a gateway that makes each request an HTTP API event and asks handler.handler, one at a time."""
    with HTTPServer((HOST, 0), Gateway) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://{HOST}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Gateway(BaseHTTPRequestHandler):
    """What an HTTP API does with a request and an answer: bodies that are no text travel as base64."""

    def do_POST(self) -> None:
        """Ask the handler, and pass its answer on."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            event = dressed(
                "http_api_v2", self.path, body.decode(), method=self.command, headers=headers
            )
        except UnicodeDecodeError:
            event = dressed("http_api_v2", self.path, body, method=self.command, headers=headers)
        reply = answer(handler.handler(event, None))
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    do_GET = do_POST  # noqa: N815  (the name that http.server looks for)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: the tests say what went wrong."""
