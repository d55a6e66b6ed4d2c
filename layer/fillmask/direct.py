"""Direct invocation: the event is the request, with its operation beside its fields.

The answer is the result object. A request that can never be answered gets a problem object: an
exception would only make Lambda repeat an asynchronous invocation. Transient failures are raised,
so that Lambda counts and repeats them.
"""

from collections.abc import Callable
from typing import Final

from fillmask.adapters import ANSWERING_MS, Answer, Context, Event, check_size, milliseconds_left
from fillmask.errors import FillMaskError
from fillmask.model import deadline
from fillmask.operations.service import Service
from fillmask.problem import problem
from fillmask.requests.native import DEFAULT_OPERATION

REQUEST_FIELDS: Final = ("operation", "text", "texts", "input")
SCHEDULERS: Final = ("aws.events", "aws.scheduler")


class DirectAdapter:
    """Answers events that are requests; `service` may raise EngineUnavailable."""

    def __init__(self, service: Callable[[], Service]) -> None:
        self._service = service

    def recognises(self, event: object) -> bool:
        """Whether the event holds a request."""
        return isinstance(event, dict) and any(field in event for field in REQUEST_FIELDS)

    def answer(self, event: Event, context: Context | None) -> Answer:
        """The result object, or the problem with the request. Raises transient errors."""
        operation = event.get("operation", DEFAULT_OPERATION)
        request = {name: value for name, value in event.items() if name != "operation"}

        try:
            with deadline.within(milliseconds_left(context) - ANSWERING_MS):
                answer = self._service().answer(operation, request)
            check_size(answer)
        except FillMaskError as error:
            if error.transient:
                raise
            return problem(error)
        return answer


class WarmUpAdapter:
    """Answers an empty event, {"warmup": true} and a schedule's event by running the model once."""

    def __init__(self, service: Callable[[], Service]) -> None:
        self._service = service

    def recognises(self, event: object) -> bool:
        """Whether the event only asks the function to be ready."""
        if not isinstance(event, dict):
            return False
        return not event or event.get("warmup") is True or event.get("source") in SCHEDULERS

    def answer(self, event: Event, context: Context | None) -> Answer:
        """{"ok": true}. Raises EngineUnavailable."""
        return self._service().warm_up()
