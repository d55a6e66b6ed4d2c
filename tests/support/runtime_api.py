"""Lambda's Runtime API, enough of it for the real runtime client: one function, one invocation at a
time.

    GET  /2018-06-01/runtime/invocation/next               waits for the next event
    POST /2018-06-01/runtime/invocation/<id>/response      the answer
    POST /2018-06-01/runtime/invocation/<id>/error         the function raised
    POST /2018-06-01/runtime/init/error                    the function could not be loaded
    GET  /2018-06-01/runtime/restore/next                  SnapStart: waits for the "restoring"
    POST /2018-06-01/runtime/restore/error                 SnapStart: a hook raised

Not a sandbox: time-outs, freezing and memory limits are the test's own business.
"""

import json
import queue
import sys
import threading
import time
import uuid
from concurrent.futures import Future
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final, NamedTuple

from support.loopback import HOST, serving

MAX_PAYLOAD: Final = 6 * 1024 * 1024  # Lambda's quota for a synchronous request and for its answer
PREFIX: Final = "/2018-06-01/runtime"
ARN: Final = "arn:aws:lambda:eu-central-1:123456789012:function:fillmask-test"


ACCEPTED: Final = b'{"status": "OK"}'
NO_SUCH_INVOCATION: Final = (
    b'{"errorMessage": "no such invocation", "errorType": "InvalidRequestID"}'
)

Posted = tuple[Any, dict[str, Any] | None]  # payload, error object


class Answer(NamedTuple):
    """What an invocation gave, and the seconds it took.

    A payload, or the error object that the runtime client posted.
    """

    payload: Any
    error: dict[str, Any] | None
    seconds: float


class _Event(NamedTuple):
    request_id: str
    body: bytes
    timeout: float


class RuntimeApi:
    """Serves on loopback; `address` is the value of AWS_LAMBDA_RUNTIME_API."""

    def __init__(self) -> None:
        # The function asked for its first event, or failed to load.
        self.ready = threading.Event()
        # The function is loaded and its snapshot could be taken.
        self.at_snapshot = threading.Event()
        self.restored = threading.Event()
        self.init_error: dict[str, Any] | None = None
        self.events: queue.Queue[_Event | None] = queue.Queue()
        self.waiting: dict[str, Future[Posted]] = {}

        server = _Server((HOST, 0), type("Handler", (_Handler,), {"api": self}))
        self.port = server.server_port
        self.address = f"{HOST}:{self.port}"
        self._stack = ExitStack()
        self._stack.enter_context(serving(server))

    def invoke(self, event: Any, timeout: float) -> Answer:
        """Hands over one event and returns what is posted; TimeoutError when nothing comes."""
        body = json.dumps(event).encode()
        if len(body) > MAX_PAYLOAD:
            raise ValueError(f"Lambda takes no event of {len(body)} bytes")

        request_id = str(uuid.uuid4())
        future: Future[Posted] = Future()
        self.waiting[request_id] = future
        started = time.monotonic()
        self.events.put(_Event(request_id, body, timeout))
        try:
            payload, error = future.result(timeout)
        finally:
            del self.waiting[request_id]
        return Answer(payload, error, time.monotonic() - started)

    def close(self) -> None:
        """Stops serving; a client that still waits for an event loses its connection."""
        self.events.put(None)
        self._stack.close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Lets a stopped function drop its connection; anything else is worth its traceback."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    api: ClassVar[RuntimeApi]
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: in two, delayed acknowledgements add 40 ms a call

    def do_GET(self) -> None:
        if self.path == f"{PREFIX}/invocation/next":
            self._next_event()
        elif self.path == f"{PREFIX}/restore/next":
            self.api.at_snapshot.set()
            self.api.restored.wait()
            self._send(200, b"{}")
        else:
            self._send(404, b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = self.path.removeprefix(f"{PREFIX}/").split("/")

        if parts in (["init", "error"], ["restore", "error"]):
            self.api.init_error = json.loads(body)
            self.api.ready.set()
            self.api.at_snapshot.set()
            self._send(202, ACCEPTED)
        elif parts[0] == "invocation" and parts[-1] in ("response", "error") and len(parts) == 3:
            self._finish(parts[1], parts[2], body)
        else:
            self._send(404, b"{}")

    def _next_event(self) -> None:
        self.api.ready.set()
        event = self.api.events.get()
        if event is None:  # the server closes
            self.close_connection = True
            return

        deadline = int((time.time() + event.timeout) * 1000)
        headers = {
            "Lambda-Runtime-Aws-Request-Id": event.request_id,
            "Lambda-Runtime-Deadline-Ms": str(deadline),
            "Lambda-Runtime-Invoked-Function-Arn": ARN,
            "Lambda-Runtime-Trace-Id": "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Sampled=0",
        }
        self._send(200, event.body, headers)

    def _finish(self, request_id: str, kind: str, body: bytes) -> None:
        future = self.api.waiting.get(request_id)
        if future is None or future.done():
            self._send(400, NO_SUCH_INVOCATION)
        elif len(body) > MAX_PAYLOAD:
            reason = {
                "errorMessage": f"{len(body)} bytes",
                "errorType": "Function.ResponseSizeTooLarge",
            }
            self._send(413, json.dumps(reason).encode())
            future.set_result((None, reason))
        else:
            value = json.loads(body)
            self._send(202, ACCEPTED)
            future.set_result((value, None) if kind == "response" else (None, value))

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the tests print what they need."""
