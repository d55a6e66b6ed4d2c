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

from fillmask.errors import InvalidJson
from fillmask.http_answer import PATHS, Reply, refuse, respond
from fillmask.service import Service
from fillmask.settings import Settings

Event = dict[str, Any]
V2, ALB, V1 = "2.0", "alb", "1.0"


class Request(NamedTuple):
    """An event's request. `path` is what the client asked for; `prefix` its part before our own paths."""

    kind: str
    method: str
    path: str
    prefix: str
    headers: dict[str, str]

    @property
    def route(self) -> str:
        """The path inside the application, without a trailing slash."""
        return self.path[len(self.prefix):].rstrip("/") or "/"


def kind(event: object) -> str | None:
    """Which HTTP event this is, or None."""
    if not isinstance(event, dict) or not isinstance(event.get("requestContext"), dict):
        return None
    if "elb" in event["requestContext"]:
        return ALB
    if event.get("version") == V2 and "http" in event["requestContext"]:
        return V2
    return V1 if "httpMethod" in event and "path" in event else None


class HttpEvents:
    """Answers HTTP events; `service` gives the service or raises EngineUnavailable."""

    def __init__(self, service: Callable[[], Service], settings: Settings) -> None:
        self._service, self._settings = service, settings
        self._gateway: Callable[[Event, object], Event] | None = None

    def answer(self, event: Event, context: object) -> Event:
        """The gateway's answer to an event of known kind."""
        try:
            body = _body(event)
        except InvalidJson as error:
            return encode(refuse(error), event)
        request = read(event, self._settings.base_path)
        if request.route in PATHS and request.method == "POST" and not self._settings.cors_origins:
            return encode(respond(self._service, request.route, request.headers.get("content-type", ""), body), event)
        return self.through_fastapi(event, context, request, body)

    def through_fastapi(self, event: Event, context: object, request: Request, body: bytes) -> Event:
        """The same through Mangum and FastAPI."""
        if self._gateway is None:
            self._gateway = self._connect()
        whole = dict(event, body=base64.b64encode(body).decode(), isBase64Encoded=True, path=request.path)
        if request.kind == V2:
            context_of = event["requestContext"]
            whole["headers"] = event.get("headers") or {}
            whole["requestContext"] = context_of | {
                "http": {"sourceIp": ""} | context_of["http"] | {"path": request.path, "method": request.method}}
        else:
            for name in ("headers", "multiValueHeaders"):
                if name in event:
                    whole[name] = event[name] or {}
        whole["fillmask.prefix"] = request.prefix
        return self._gateway(whole, context)

    def _connect(self) -> Callable[[Event, object], Event]:
        from mangum import Mangum  # noqa: PLC0415  (not on the way to a first answer)

        from fillmask.http_api import create_app  # noqa: PLC0415
        app: Any = create_app(self._service, self._settings)
        gateway: Any = Mangum(app, lifespan="off",
                              text_mime_types=["text/", "application/json", "application/problem+json"])
        return gateway  # type: ignore[no-any-return]


def read(event: Event, base_path: str) -> Request:
    """The request of an event of known kind; the prefix is the stage and the custom domain's base path."""
    kind_of, context = kind(event) or V1, event["requestContext"]
    headers = {str(name).lower(): str(value) for name, value in (event.get("headers") or {}).items()}
    headers |= {str(name).lower(): ", ".join(map(str, values)) if isinstance(values, list) else ""
                for name, values in (event.get("multiValueHeaders") or {}).items()}
    if kind_of == V2:
        method, path = context["http"].get("method", "GET"), event.get("rawPath") or context["http"].get("path") or "/"
        prefix = "" if context.get("stage") in (None, "$default") else f"/{context['stage']}"
    else:
        method, inner = event["httpMethod"], event["path"] or "/"
        path = context.get("path") or inner  # REST: the stage stands in the context's path only
        prefix = path[: -len(inner)] if path.endswith(inner) and inner != "/" else _stage(context, path)
    prefix = prefix if _under(path, prefix) else ""
    if base_path and _under(path[len(prefix):], base_path):
        prefix += base_path
    return Request(kind_of, str(method).upper(), path, prefix, headers)


def _stage(context: Mapping[str, Any], path: str) -> str:
    stage = f"/{context.get('stage', '')}"
    return stage if len(stage) > 1 and _under(path, stage) else ""


def _under(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(prefix + "/")


def _body(event: Event) -> bytes:
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
        raise InvalidJson("The body is not the base64 it is said to be.") from None


def encode(reply: Reply, event: Event) -> Event:
    """The gateway's own form of a reply: what Mangum makes of the same reply from FastAPI."""
    headers = {"content-length": str(len(reply.body)), "content-type": reply.media_type}
    answer: Event = {"statusCode": reply.status, "body": reply.body.decode(), "isBase64Encoded": False}
    kind_of = kind(event)
    if kind_of == ALB and "multiValueHeaders" in event:
        return answer | {"multiValueHeaders": {name: [value] for name, value in headers.items()}}
    if kind_of == V1:
        return answer | {"headers": headers, "multiValueHeaders": {}}
    return answer | {"headers": headers}


