"""One HTTP request to an operation, answered without a web framework.

Both the lean way (application.py) and FastAPI's routes (app.py) end here, so they agree by
construction. Knows JSON, media types and problems; not events or ASGI.
"""

import logging
import uuid
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from fillmask import limits
from fillmask.errors import FillMaskError, InvalidJson, UnsupportedMediaType
from fillmask.http import huggingface
from fillmask.operations.service import Service
from fillmask.problem import problem
from fillmask.requests import json_text

JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"
TRACE_DEPTH: Final = 6  # innermost calls of a trace that the log shows

log = logging.getLogger("fillmask")


class Reply(NamedTuple):
    """Status, media type and bytes of an answer."""

    status: int
    media_type: str
    body: bytes


def _native(operation: str) -> Callable[[Service, object], Any]:
    return lambda service, request: service.answer(operation, request)


# What a POST to a path asks for.
PATHS: Final[dict[str, Callable[[Service, object], Any]]] = {
    "/v1/fill-mask": _native("fill-mask"),
    "/v1/embeddings": _native("embed"),
    "/v1/similarity": _native("similarity"),
    "/hf/fill-mask": huggingface.fill_mask,
    "/hf/feature-extraction": huggingface.feature_extraction,
    "/hf/sentence-similarity": huggingface.sentence_similarity,
}

# The one member of an error's body that the clients of a path show to their users.
SHOWN_MEMBER: Final[dict[str, str]] = {
    "/v1/embeddings": "message",
    "/hf/fill-mask": "error",
    "/hf/feature-extraction": "error",
    "/hf/sentence-similarity": "error",
}


def respond(
    service: Callable[[], Service], path: str, content_type: str, body: bytes | None
) -> Reply:
    """Decode, call, encode. Where `service` raises EngineUnavailable, the answer is its problem."""

    def work() -> Reply:
        operation = PATHS[path]
        answer = operation(service(), decode(content_type, body))
        return reply_json(200, JSON, answer)

    return guarded(work, SHOWN_MEMBER.get(path))


def decode(content_type: str, body: bytes | None) -> Any:
    """The JSON value of a body; None stands for a body that is not the base64 it should be.

    Raises InvalidJson, UnsupportedMediaType or TooLarge.
    """
    if body is None:
        raise InvalidJson("The body is not valid base64.")
    limits.check("body_bytes", len(body), "bytes of the body")

    try:
        return json_text.read(body)
    except InvalidJson:
        media_type = content_type.partition(";")[0].strip().lower()
        if media_type and media_type != JSON and not media_type.endswith("+json"):
            raise UnsupportedMediaType("The body must be JSON, of type application/json.") from None
        raise


def refuse(error: FillMaskError, shown_member: str | None = None) -> Reply:
    """A problem+json reply, with its detail repeated as `shown_member` if that is given."""
    content = problem(error)
    if shown_member:
        content[shown_member] = error.detail
    return reply_json(content["status"], PROBLEM, content)


def guarded(work: Callable[[], Reply], shown_member: str | None = None) -> Reply:
    """The reply of `work`, or the problem that it raised; never an exception or a traceback."""
    try:
        return work()
    except FillMaskError as error:
        return refuse(error, shown_member)
    except Exception as error:  # noqa: BLE001  (the last resort: an id instead of a traceback)
        request_id = str(uuid.uuid4())
        log.error("request %s failed: %s", request_id, where(error))
        failure = FillMaskError("The request failed; the log has its id.", request_id=request_id)
        return refuse(failure, shown_member)


def where(error: BaseException) -> str:
    """The type of an error and the lines it came through.

    That is all a log may hold of it, because messages can quote the caller's text.
    """
    lines = []
    trace = error.__traceback__
    while trace:
        code = trace.tb_frame.f_code
        lines.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return f"{type(error).__name__} at {' > '.join(lines[-TRACE_DEPTH:])}"


def reply_json(status: int, media_type: str, content: Any) -> Reply:
    """A reply with a JSON body. Raises ValueError for NaN and infinities."""
    return Reply(status, media_type, json_text.write(content).encode())
