"""Every error a caller can meet, as one tree. No status numbers here: adapters own those.

    FillMaskError
    |-- InvalidJson            the body is not JSON text in UTF-8
    |-- InvalidRequest         JSON, but not a request of ours
    |-- NoMask                 a text without [MASK]
    |-- TooLarge               over a limit that has a name and a number
    |-- UnknownEvent           the function was invoked with an event it does not know
    |-- OperationUnavailable   the loaded model cannot do what was asked
    `-- EngineUnavailable      the model could not be loaded or run

Messages name fields, limits and places; they never repeat the caller's text.
"""

from collections.abc import Mapping
from typing import Any


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 text", "3 texts"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class FillMaskError(Exception):
    """An error with a stable `code`, a sentence for people, and `extra` members for programs."""

    code = "internal"

    def __init__(self, detail: str, **extra: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extra: Mapping[str, Any] = extra


class InvalidJson(FillMaskError):
    """The body could not be read as JSON."""

    code = "invalid_json"


class InvalidRequest(FillMaskError):
    """Wrong fields or values; `errors` lists each as {"field", "reason"}."""

    code = "invalid_request"

    @classmethod
    def of(cls, field: str, reason: str, subject: str = "") -> "InvalidRequest":
        """The error of one field; `subject` begins the sentence where the bare name would not read well."""
        return cls(f"{subject or field} {reason}.", errors=[{"field": field, "reason": reason}])


class NoMask(FillMaskError):
    """A text has no mask token; `index` says which, `hint` what looked like one (or null)."""

    code = "no_mask"


class TooLarge(FillMaskError):
    """Over a limit; `limit` is its name, `maximum` its number and `size` what came."""

    code = "too_large"


class UnknownEvent(FillMaskError):
    """The event is none of those the function answers."""

    code = "unknown_event"


class OperationUnavailable(FillMaskError):
    """The loaded model has no head for this operation."""

    code = "operation_unavailable"


class EngineUnavailable(FillMaskError):
    """The model could not be loaded or run; passing, so worth a retry."""

    code = "engine_unavailable"
