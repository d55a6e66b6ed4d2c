"""Direct invocation: the event is the request, with its operation beside it; the answer is the result object.

A request that can never be answered gets a problem object back: an exception would only make Lambda repeat an
asynchronous invocation. What may pass (no model) and what is a fault of ours is raised, so that it counts.
"""

from collections.abc import Callable
from typing import Any, Final

from fillmask.errors import FillMaskError
from fillmask.operations.service import Service
from fillmask.problem import problem

REQUEST_FIELDS: Final = ("operation", "text", "texts", "input")


def is_direct(event: object) -> bool:
    """A request of ours stands in the event itself."""
    return isinstance(event, dict) and any(field in event for field in REQUEST_FIELDS)


def is_warm_up(event: object) -> bool:
    """An empty event, {"warmup": true}, or a schedule's."""
    return isinstance(event, dict) and (
        not event
        or event.get("warmup") is True
        or event.get("source") in ("aws.events", "aws.scheduler")
    )


def answer(service: Callable[[], Service], event: dict[str, Any]) -> dict[str, Any]:
    """The result object, or the problem with the request."""
    request = {name: value for name, value in event.items() if name != "operation"}
    try:
        return service().answer(event.get("operation", "fill-mask"), request)
    except FillMaskError as error:
        if error.transient:
            raise
        return problem(error)
