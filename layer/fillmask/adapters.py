"""What every way into the function offers, and what it uses of Lambda."""

import json
import sys
from typing import Any, Final, Protocol

from fillmask import limits

Event = dict[str, Any]  # a JSON object as Lambda decodes it
Answer = dict[str, Any]  # a JSON object for Lambda to encode

# Up to Python 3.11, Lambda's runtime escapes every character outside of ASCII.
ESCAPES: Final = sys.version_info < (3, 12)
BYTES_PER_CHARACTER: Final = 12  # of JSON at most: a surrogate pair, escaped

ANSWERING_MS: Final = 500  # for encoding an answer and sending it


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


def check_size(answer: Answer, limit: str = "answer_bytes") -> None:
    """Raises TooLarge where Lambda's runtime would encode an answer to more bytes than the limit.

    It would end without an answer, and the instance with it.
    """
    encoded = json.dumps(answer, ensure_ascii=ESCAPES).encode("utf-8", "surrogatepass")
    limits.check(
        limit,
        len(encoded),
        "bytes of the answer; ask for fewer texts, masks, candidates, targets or dimensions",
    )
