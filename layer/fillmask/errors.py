"""Every error that a caller or an operator can meet. No status numbers here: problem.py has those.

    FillMaskError                  something went wrong inside: code "internal"
    |-- EngineUnavailable          the model could not be loaded or run
    |-- DeadlineExceeded           the time left does not cover the work
    `-- Refusal                    the request is at fault, and the same request will be again
        |-- InvalidJson            the body is not JSON text in UTF-8
        |-- UnsupportedMediaType   the body is not JSON, and its media type says so
        |-- InvalidRequest         JSON, but not a valid request
        |-- NoMask                 a text without [MASK]
        |-- TooLarge               over a limit that has a name and a number
        |-- UnknownEvent           the function was invoked with an event it does not know
        |-- NotFound               no such path
        |-- MethodNotAllowed       the path exists, but does not take this method
        `-- OperationUnavailable   the loaded model cannot do what was asked
    UnreportableError              a queue record whose failure could not be reported

Messages name fields, limits and positions. They never repeat the caller's text.
"""

from collections.abc import Mapping
from typing import Any, ClassVar


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 text", "3 texts"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class FillMaskError(Exception):
    """An error with a stable `code`, a sentence for people, and `extra` members for programs.

    `transient` says whether another try of the same request may succeed.
    """

    code: ClassVar[str] = "internal"
    transient: ClassVar[bool] = True

    def __init__(self, detail: str, **extra: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extra: Mapping[str, Any] = extra


class EngineUnavailable(FillMaskError):
    """The model could not be loaded or run."""

    code = "engine_unavailable"


class DeadlineExceeded(FillMaskError):
    """The time left does not cover the work: `tokens` are to be run, `fitting_tokens` would fit."""

    code = "deadline_exceeded"


class Refusal(FillMaskError):
    """What the caller sent cannot be answered: another try of the same request fails too."""

    transient = False


class InvalidJson(Refusal):
    """The body could not be read as JSON."""

    code = "invalid_json"


class UnsupportedMediaType(Refusal):
    """The body could not be read as JSON, and its media type says that it is something else."""

    code = "unsupported_media_type"


class InvalidRequest(Refusal):
    """Wrong fields or values; `errors` lists each as {"field", "reason"}."""

    code = "invalid_request"

    @classmethod
    def of(cls, field: str, reason: str, subject: str = "") -> "InvalidRequest":
        """The error of one field; `subject` begins the sentence where the bare name reads badly."""
        return cls(f"{subject or field} {reason}.", errors=[{"field": field, "reason": reason}])


class NoMask(Refusal):
    """A text has no mask token; `index` says which one, `hint` what looked like a mask, or null."""

    code = "no_mask"


class TooLarge(Refusal):
    """Over a limit: `limit` is its name, `maximum` its number, `size` the number that came."""

    code = "too_large"


class UnknownEvent(Refusal):
    """The event is none of those that the function answers."""

    code = "unknown_event"


class NotFound(Refusal):
    """There is nothing at this path."""

    code = "not_found"


class MethodNotAllowed(Refusal):
    """The path does not take this method."""

    code = "method_not_allowed"


class OperationUnavailable(Refusal):
    """The loaded model has no head for this operation."""

    code = "operation_unavailable"


class UnreportableError(Exception):
    """A queue record has no messageId.

    Only failing the whole invocation keeps SQS from deleting that record with the rest.
    """
