"""Servers that behave as DynamoDB should not: silent, slow, refusing, talking nonsense."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def silent() -> Iterator[str]:
    """Yield the URL of a socket that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def closed() -> Iterator[str]:
    """Yield the URL of a port that refuses connections."""
    with socket.socket() as bound:  # bound and not listening: nobody else gets the port meanwhile
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


class Answering:
    """An endpoint that gives every request the same answer, and counts them."""

    def __init__(self, status: int, body: bytes, seconds_a_byte: float = 0.0) -> None:
        self.status = status
        self.body = body
        self.seconds_a_byte = seconds_a_byte
        self.requests = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> "Answering":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

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
                """Keep the test's output clean."""

        return Handler

    def send(self, stream: Any) -> None:
        """Write the body, at once or byte by byte."""
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
    """Return an endpoint that refuses every request with this DynamoDB error."""
    body = {
        "__type": f"com.amazonaws.dynamodb.v20120810#{code}",
        "message": "refused: secret 床前明月光",
    }
    return Answering(status, json.dumps(body).encode())
