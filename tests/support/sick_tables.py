"""Servers that behave as no DynamoDB endpoint should: silent, slow, refusing, talking nonsense."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Self

from support.loopback import HOST, serving


@contextmanager
def silent() -> Iterator[str]:
    """The URL of a socket that accepts connections and never says a word."""
    with socket.create_server((HOST, 0), backlog=128) as server:
        yield f"http://{HOST}:{server.getsockname()[1]}"


@contextmanager
def closed() -> Iterator[str]:
    """The URL of a port that refuses connections."""
    with socket.socket() as bound:  # bound and not listening: nobody else gets the port meanwhile
        bound.bind((HOST, 0))
        yield f"http://{HOST}:{bound.getsockname()[1]}"


class Answering:
    """An endpoint that gives every request the same answer, and counts them; a context manager."""

    def __init__(self, status: int, body: bytes, seconds_a_byte: float = 0.0) -> None:
        self.status = status
        self.body = body
        self.seconds_a_byte = seconds_a_byte
        self.requests = 0
        self._stack = ExitStack()
        self.url = ""

    def __enter__(self) -> Self:
        server = ThreadingHTTPServer((HOST, 0), self._handler())
        self.url = self._stack.enter_context(serving(server))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.requests += 1
                self.rfile.read(int(self.headers["Content-Length"]))

                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(outer.body)))
                self.end_headers()
                outer.send(self.wfile)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: the tests say what went wrong."""

        return Handler

    def send(self, stream: BufferedIOBase) -> None:
        """Writes the body, at once or byte by byte."""
        if not self.seconds_a_byte:
            stream.write(self.body)
            return

        try:
            for byte in self.body:
                time.sleep(self.seconds_a_byte)
                stream.write(bytes([byte]))
        except OSError:
            return  # the client gave up, which is the point


def refusing(code: str, status: int = 400) -> Answering:
    """An endpoint that refuses every request with this DynamoDB error."""
    body = {
        "__type": f"com.amazonaws.dynamodb.v20120810#{code}",
        "message": "refused: secret 床前明月光",
    }
    return Answering(status, json.dumps(body).encode())
