"""The FastAPI application: routing, documents, health, CORS, and every error as problem+json.

Operations are answered by respond.respond, which reads the raw body: the contract's validation is
in requests/ and is not written again here as models. Not imported before a request needs it.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from fillmask.errors import MethodNotAllowed, NotFound
from fillmask.http import openapi, page
from fillmask.http.asgi import MALFORMED_BODY
from fillmask.http.info import HEALTH, info
from fillmask.http.openai import models
from fillmask.http.respond import (
    JSON,
    PATHS,
    Reply,
    guarded,
    refuse,
    reply_json,
    respond,
)
from fillmask.operations.service import Service
from fillmask.settings import Settings

Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(service: Callable[[], Service], settings: Settings) -> ASGIApp:
    """The whole application; `service` gives the service or raises EngineUnavailable."""
    # The layer has no OpenTelemetry SDK. A variable must not make FastAPI look for one.
    app = Documented(
        redirect_slashes=False,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
        telemetry={"auto_configure": False},
    )

    for path in PATHS:
        app.add_api_route(path, _operation(service, path), methods=["POST"])
    for path, endpoint in (
        ("/", _page()),
        ("/health", _health),
        ("/info", _info(service)),
        ("/v1/models", _models(service)),
    ):
        app.add_api_route(path, endpoint, methods=["GET", "HEAD"])

    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _internal_error)
    return _with_cors(Mounted(app), settings)


def _operation(service: Callable[[], Service], path: str) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        malformed = MALFORMED_BODY in request.scope.get("extensions", {})
        body = None if malformed else await request.body()
        content_type = request.headers.get("content-type", "")
        return _response(await run_in_threadpool(respond, service, path, content_type, body))

    return endpoint


def _page() -> Endpoint:
    content, headers = page.load()

    async def endpoint(request: Request) -> Response:
        return Response(content, media_type="text/html", headers=headers)

    return endpoint


async def _health() -> Response:
    """Alive; says nothing about the model."""
    return _response(reply_json(200, JSON, HEALTH))


def _info(service: Callable[[], Service]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        """The model's manifest, the limits and the versions in use."""
        return _response(guarded(lambda: reply_json(200, JSON, info(service().manifest))))

    return endpoint


def _models(service: Callable[[], Service]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        """The one model, in OpenAI's shape."""
        return _response(guarded(lambda: reply_json(200, JSON, models(service().manifest))))

    return endpoint


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, media_type=reply.media_type)


async def _http_error(request: Request, error: Any) -> Response:
    """What routing raises: 404 and 405."""
    if error.status_code != 405:
        return _response(refuse(NotFound("There is nothing at this path.")))

    response = _response(refuse(MethodNotAllowed("This path does not take this method.")))
    response.headers["allow"] = ", ".join(sorted(error.headers["Allow"].split(", ")))
    return response


async def _internal_error(request: Request, error: Exception) -> Response:
    return _response(refuse(error))


class Documented(FastAPI):
    """FastAPI with our own document."""

    def openapi(self) -> openapi.Document:
        """See openapi.py."""
        return openapi.document()


class Mounted:
    """Lets a trailing slash mean nothing, under whatever prefix the application is reached."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI; the prefix is the connection's root path."""
        if scope["type"] == "http":
            prefix = str(scope.get("root_path", ""))
            path = scope["path"].rstrip("/")
            scope = dict(scope, path=path if len(path) > len(prefix) else prefix + "/")
        await self._app(scope, receive, send)


def _with_cors(app: ASGIApp, settings: Settings) -> ASGIApp:
    """Outermost, so that errors carry the headers too."""
    if not settings.cors_origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=list(settings.cors_origins),
        allow_methods=["GET", "POST"],
        allow_headers=["*"],
        max_age=86400,
    )
