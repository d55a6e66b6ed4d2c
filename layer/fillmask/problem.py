"""Errors as the problem objects of RFC 9457, and the one table of their status numbers.

Every adapter that answers with JSON uses it. The operations raise errors by name and never see a
number.
"""

from typing import Any, Final

from fillmask.errors import FillMaskError

TYPE_PREFIX: Final = "urn:problem-type:fillmask:"

TABLE: Final[dict[str, tuple[int, str]]] = {
    "invalid_json": (400, "The body is not JSON"),
    "unknown_event": (400, "The event is not one this function answers"),
    "not_found": (404, "There is nothing at this path"),
    "operation_unavailable": (404, "The loaded model cannot do this"),
    "method_not_allowed": (405, "The path does not take this method"),
    "too_large": (413, "The request is over a limit"),
    "unsupported_media_type": (415, "The body is not JSON by its media type"),
    "invalid_request": (422, "The request is not valid"),
    "no_mask": (422, "A text has no mask"),
    "internal": (500, "Something went wrong inside"),
    "engine_unavailable": (503, "The model is not available"),
    "deadline_exceeded": (503, "The time left is too short"),
}


def problem(error: FillMaskError) -> dict[str, Any]:
    """The members "type", "title", "status", "detail" and "code", and the error's own."""
    status, title = TABLE[error.code]
    return {
        "type": TYPE_PREFIX + error.code,
        "title": title,
        "status": status,
        "detail": error.detail,
        "code": error.code,
        **error.extra,
    }
