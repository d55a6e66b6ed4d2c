"""Servers on loopback: one thread serves until the block ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from threading import Thread
from typing import Final

HOST: Final = "127.0.0.1"
POLL_SECONDS: Final = 0.02  # how often a server looks whether it is to stop


@contextmanager
def serving(server: HTTPServer) -> Iterator[str]:
    """The URL of a server that was bound to `(HOST, 0)`, and serves on a thread of its own."""
    with server:
        thread = Thread(target=server.serve_forever, args=(POLL_SECONDS,), daemon=True)
        thread.start()

        try:
            yield f"http://{HOST}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
