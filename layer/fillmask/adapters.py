"""What every way into the function offers, and what it uses of Lambda."""

from typing import Any, Protocol

Event = dict[str, Any]  # a JSON object as Lambda decodes it
Answer = dict[str, Any]  # a JSON object for Lambda to encode


class Context(Protocol):
    """What is used of Lambda's context object."""

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda ends this invocation."""


class Adapter(Protocol):
    """One way in: HTTP by one gateway, a queue, direct invocation, or a warm-up."""

    def recognises(self, event: object) -> bool:
        """Whether `answer` takes this event."""

    def answer(self, event: Event, context: Context | None) -> Answer:
        """The answer in the form that the sender of the event wants."""


def milliseconds_left(context: Context | None) -> float:
    """Until Lambda ends the invocation; without a context, as in a test, there is no end."""
    return float("inf") if context is None else context.get_remaining_time_in_millis()
