"""HTTP events of AWS: API Gateway payloads 1.0 and 2.0, Function URLs, ALB.

A plain JSON POST to an operation is answered here, without a web framework: FastAPI takes as long to import
as the model to load. Everything else (the page, the documents, errors of routing, CORS) goes through Mangum
into FastAPI, which is imported when it is first needed.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fillmask.http.respond import PATHS, respond
from fillmask.operations.service import Service
from fillmask.settings import Settings

Event = dict[str, Any]
V2, ALB, V1 = "2.0", "alb", "1.0"
# Mangum reads the server's name and port out of these, and fails on some that a load balancer lets through.
UNREAD = ("host", "x-forwarded-port")


class Request(NamedTuple):
    """An event's request. `path` is what the client asked for; `prefix` its part before our own paths; `body`
    is None when it was said to be base64 and is not."""

    method: str
    path: str
    prefix: str
    headers: dict[str, str]
    body: bytes | None

    @property
    def route(self) -> str:
        """The path inside the application, without a trailing slash."""
        return self.path[len(self.prefix) :].rstrip("/") or "/"


def kind(event: object) -> str | None:
    """Which HTTP event this is, or None."""
    if not isinstance(event, dict) or not isinstance(event.get("requestContext"), dict):
        return None
    context = event["requestContext"]
    if "elb" in context:
        return ALB
    if event.get("version") == V2 and isinstance(context.get("http"), dict):
        return V2
    return V1 if "httpMethod" in event and "path" in event else None


class HttpEvents:
    """Answers HTTP events; `service` gives the service or raises EngineUnavailable."""

    def __init__(self, service: Callable[[], Service], settings: Settings) -> None:
        self._service, self._settings = service, settings
        self._gateway: Callable[[Event, object], Event] | None = None

    def answer(self, event: Event, context: object) -> Event:
        """The gateway's answer to an event of known kind."""
        request = read(event, self._settings.base_path)
        if request.method != "POST" or request.route not in PATHS or self._settings.cors_origins:
            return self._through_fastapi(event, context, request)
        reply = respond(
            self._service, request.route, request.headers.get("content-type", ""), request.body
        )
        headers = {"content-length": str(len(reply.body)), "content-type": reply.media_type}
        return encode(event, reply.status, headers, reply.body.decode())

    def through_fastapi(self, event: Event, context: object) -> Event:
        """The same through Mangum and FastAPI."""
        return self._through_fastapi(event, context, read(event, self._settings.base_path))

    def _through_fastapi(self, event: Event, context: object, request: Request) -> Event:
        import asyncio  # noqa: PLC0415  (not on the way to a first answer)

        # Mangum runs on the thread's event loop, which newer Pythons no longer make, and no other thread has.
        with asyncio.Runner() as runner:
            runner.get_loop()  # makes it and sets it as the thread's
            if self._gateway is None:
                self._gateway = self._connect()
            reply = self._gateway(_as_v2(request), context)
        body = "" if request.method == "HEAD" else reply["body"]
        return encode(event, reply["statusCode"], reply["headers"], body, reply["isBase64Encoded"])

    def _connect(self) -> Callable[[Event, object], Event]:
        from mangum import Mangum  # noqa: PLC0415  (not on the way to a first answer)

        from fillmask.http.app import create_app  # noqa: PLC0415

        app: Any = create_app(self._service, self._settings)
        gateway: Any = Mangum(
            app,
            lifespan="off",
            text_mime_types=["text/", "application/json", "application/problem+json"],
        )
        return gateway  # type: ignore[no-any-return]


def read(event: Event, base_path: str) -> Request:
    """The request of an event of known kind; the prefix is the stage and the custom domain's base path."""
    kind_of, context = kind(event) or V1, event["requestContext"]
    headers = {
        str(name).lower(): str(value) for name, value in (event.get("headers") or {}).items()
    }
    headers |= {
        str(name).lower(): ", ".join(map(str, values)) if isinstance(values, list) else ""
        for name, values in (event.get("multiValueHeaders") or {}).items()
    }
    if kind_of == V2:
        method = context["http"].get("method") or "GET"
        path = event.get("rawPath") or context["http"].get("path") or "/"
        prefix = _stage(context, path)
    else:
        method, inner = event.get("httpMethod") or "GET", event.get("path") or "/"
        path = context.get("path") or inner  # REST: the stage stands in the context's path only
        prefix = (
            path[: -len(inner)] if path.endswith(inner) and inner != "/" else _stage(context, path)
        )
    if base_path and _under(path[len(prefix) :], base_path):
        prefix += base_path
    return Request(str(method).upper(), path, prefix, headers, _body(event))


def _stage(context: Mapping[str, Any], path: str) -> str:
    """The stage that begins a path. A custom domain leaves it out, and one named like a path of ours (v1) is
    then no prefix."""
    stage = f"/{context.get('stage') or ''}"
    return stage if len(stage) > 1 and _under(path, stage) and path.rstrip("/") not in PATHS else ""


def _under(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(prefix + "/")


def _body(event: Event) -> bytes | None:
    """The bytes of a body: text, base64, nothing, or (console test events) the JSON value itself."""
    body = event.get("body")
    if body is None:
        return b""
    if not isinstance(body, str):
        return json.dumps(body).encode()
    if not event.get("isBase64Encoded"):
        return body.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return None


def _as_v2(request: Request) -> Event:
    """The request as an event of payload 2.0, in whatever form it came: the one form Mangum has to read."""
    return {
        "version": V2,
        "rawQueryString": "",
        "headers": {name: value for name, value in request.headers.items() if name not in UNREAD},
        "requestContext": {
            "http": {"method": request.method, "path": request.path, "sourceIp": ""}
        },
        "body": base64.b64encode(request.body or b"").decode(),
        "isBase64Encoded": True,
        "fillmask.prefix": request.prefix,
        "fillmask.malformed": request.body is None,
    }


def encode(
    event: Event, status: int, headers: dict[str, str], body: str, is_base64: bool = False
) -> Event:
    """An answer in the form of the gateway that sent the event."""
    answer: Event = {"statusCode": status, "body": body, "isBase64Encoded": is_base64}
    kind_of = kind(event)
    if kind_of == ALB and "multiValueHeaders" in event:
        return answer | {"multiValueHeaders": {name: [value] for name, value in headers.items()}}
    if kind_of == V1:
        return answer | {"headers": headers, "multiValueHeaders": {}}
    return answer | {"headers": headers}
