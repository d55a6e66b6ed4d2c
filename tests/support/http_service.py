"""The HTTP half of the handler, on the embedded model without a cache.

A second answer then equals the first to the last byte (`cached` stays false), whichever way it
came.
"""

from collections.abc import Callable
from typing import Any

from fillmask.adapters import Answer as Answered
from fillmask.adapters import Context, Event
from fillmask.errors import EngineUnavailable
from fillmask.http.application import HttpApplication, adapters
from fillmask.http.gateways import ALL
from fillmask.operations.service import Service
from fillmask.settings import Settings
from support.embedded import remembering, service
from support.http_events_made import Answer, answer, dressed
from support.paths import MODEL
from support.problems import check_problem_reply

__all__ = [
    "ask",
    "failing_service",
    "http",
    "no_service",
    "problem",
    "remembering",
    "service",
    "settings",
]


def settings(**more: str) -> Settings:
    """Settings for the embedded model.

    Names are those of the variables without FILLMASK_, in small letters.
    """
    variables = {"model_dir": str(MODEL), "memory_cache_bytes": "0"} | more
    return Settings.from_env(
        {f"FILLMASK_{name.upper()}": value for name, value in variables.items()}
    )


def no_service() -> Service:
    """What stands in the service's place when the model could not be loaded."""
    raise EngineUnavailable("The model could not be loaded; the log says why.")


def failing_service() -> Any:
    """A service with a fault of its own, whose message quotes a text, as messages do."""

    class Faulty:
        def answer(self, operation: str, request: object) -> Any:
            raise RuntimeError(f"tensor of {request}")

        @property
        def manifest(self) -> Any:
            raise RuntimeError("no manifest")

    return Faulty()


class HttpEvents:
    """The HTTP half of the handler."""

    def __init__(self, service: Callable[[], Any], settings: Settings) -> None:
        self.application = HttpApplication(service, settings)
        self._adapters = adapters(self.application)

    def recognises(self, event: object) -> bool:
        """Whether it is an HTTP event."""
        return any(adapter.recognises(event) for adapter in self._adapters)

    def answer(self, event: Event, context: Context | None) -> Answered:
        """What the first gateway that knows the event gets."""
        adapter = next(adapter for adapter in self._adapters if adapter.recognises(event))
        return adapter.answer(event, context)

    def through_fastapi(self, event: Event, context: Context | None) -> Answered:
        """The same through Mangum and FastAPI, whatever is asked."""
        gateway = next(gateway for gateway in ALL if gateway.recognises(event))
        request = gateway.read(event, self.application.base_path)
        return gateway.write(self.application.through_fastapi(request))


def http(
    service: Callable[[], Any] = service, base_path: str = "", cors_origins: str = ""
) -> HttpEvents:
    """The HTTP half of the handler, with such settings."""
    return HttpEvents(service, settings(base_path=base_path, cors_origins=cors_origins))


def ask(events: HttpEvents, path: str, body: bytes | str | None = None, **how: Any) -> Answer:
    """What a client gets for a request that comes as an HTTP API event."""
    return answer(events.answer(dressed("http_api_v2", path, body, **how), None))


def problem(reply: Answer, *sent: object) -> dict[str, Any]:
    """The problem that a reply holds, checked."""
    return check_problem_reply(*reply, *sent)
