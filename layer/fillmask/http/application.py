"""HTTP events in, HTTP answers out.

A plain JSON POST to an operation is answered without a web framework: FastAPI takes as long to
import as the model takes to load. Everything else (the page, the documents, errors of routing,
CORS) goes through Mangum into FastAPI, which is imported when it is first needed.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from fillmask import limits
from fillmask.adapters import (
    ANSWERING_MS,
    BYTES_PER_CHARACTER,
    Answer,
    Context,
    Event,
    check_size,
    milliseconds_left,
)
from fillmask.errors import TooLarge
from fillmask.http.gateways import ALL, Gateway, Request, Response
from fillmask.http.respond import PATHS, refuse, respond
from fillmask.model import deadline
from fillmask.operations.service import Service
from fillmask.settings import Settings

if TYPE_CHECKING:
    from mangum import Mangum


class HttpApplication:
    """Answers requests; `service` returns the service or raises EngineUnavailable."""

    def __init__(self, service: Callable[[], Service], settings: Settings) -> None:
        self._service = service
        self._settings = settings
        self._mangum: Mangum | None = None

    @property
    def base_path(self) -> str:
        """The base path of a custom domain, or nothing."""
        return self._settings.base_path

    def answer(self, request: Request) -> Response:
        """The answer to a request; the framework is asked only for what needs it."""
        is_operation = request.method == "POST" and request.route in PATHS
        if not is_operation or self._settings.cors_origins:
            return self.through_fastapi(request)

        content_type = request.headers.get("content-type", "")
        reply = respond(self._service, request.route, content_type, request.body)
        return Response.of(reply)

    def through_fastapi(self, request: Request) -> Response:
        """The same answer through Mangum and FastAPI."""
        import asyncio  # noqa: PLC0415  (not on the way to a first answer)

        # Mangum takes its thread's event loop. Newer Pythons no longer make one unasked, and
        # threads other than the first never had one.
        with asyncio.Runner() as runner:
            runner.get_loop()
            self._mangum = self._mangum or self._connect()
            # Mangum's types know only of events that are dicts. RequestHandler takes a Request,
            # which Mangum hands on untouched, and gives the Response.
            response = cast(Response, self._mangum(cast(Any, request), cast(Any, None)))

        return response if request.method != "HEAD" else response._replace(body="")

    def _connect(self) -> "Mangum":
        from mangum import Mangum  # noqa: PLC0415  (not on the way to a first answer)

        from fillmask.http.app import create_app  # noqa: PLC0415
        from fillmask.http.asgi import RequestHandler  # noqa: PLC0415

        app = cast(Any, create_app(self._service, self._settings))  # ASGI by Starlette's types
        return Mangum(app, lifespan="off", custom_handlers=[cast(Any, RequestHandler)])


class HttpAdapter:
    """Answers the events of one gateway."""

    def __init__(self, gateway: Gateway, application: HttpApplication) -> None:
        self._gateway = gateway
        self._application = application

    def recognises(self, event: object) -> bool:
        """Whether the event comes from this gateway."""
        if not isinstance(event, dict) or not isinstance(event.get("requestContext"), dict):
            return False
        return self._gateway.recognises(event)

    def answer(self, event: Event, context: Context | None) -> Answer:
        """The answer in the form that the gateway wants."""
        request = self._gateway.read(event, self._application.base_path)
        with deadline.within(milliseconds_left(context) - ANSWERING_MS):
            response = self._application.answer(request)
        return self._fitting(request, response)

    def _fitting(self, request: Request, response: Response) -> Answer:
        """The answer, or the problem that it is too large for the gateway."""
        answer = self._gateway.write(response)

        # Most answers are so short that their bytes need no counting.
        limit = self._gateway.limit
        if len(response.body) * BYTES_PER_CHARACTER <= limits.TABLE[limit]:
            return answer

        try:
            check_size(answer, limit)
        except TooLarge as error:
            reply = refuse(error, PATHS[request.route].error_member)
            return self._gateway.write(response.replaced(reply))
        return answer


def adapters(application: HttpApplication) -> list[HttpAdapter]:
    """One adapter for each gateway, in the order in which they are to be asked."""
    return [HttpAdapter(gateway, application) for gateway in ALL]
