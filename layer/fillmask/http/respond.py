"""One HTTP request to an operation, answered without a web framework.

Both the lean way (application.py) and FastAPI's routes (app.py) end here, so they agree by
construction. Knows JSON, media types and problems; not events or ASGI.
"""

import logging
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

Operation = Callable[[Service, object], Any]  # of a JSON value, to a JSON value

log = logging.getLogger("fillmask")


class Route(NamedTuple):
    """What a POST to a path asks for.

    `shown_member` is the one member of an error that the clients of the path show to their users:
    it repeats the detail. None where a client reads problems.
    """

    operation: Operation
    shown_member: str | None = None


class Reply(NamedTuple):
    """Status, media type and bytes of an answer."""

    status: int
    media_type: str
    body: bytes


def _native(name: str) -> Operation:
    return lambda service, request: service.answer(name, request)


PATHS: Final = {
    "/v1/fill-mask": Route(_native("fill-mask")),
    "/v1/embeddings": Route(_native("embed"), shown_member="message"),
    "/v1/similarity": Route(_native("similarity")),
    "/hf/fill-mask": Route(huggingface.fill_mask, shown_member="error"),
    "/hf/feature-extraction": Route(huggingface.feature_extraction, shown_member="error"),
    "/hf/sentence-similarity": Route(huggingface.sentence_similarity, shown_member="error"),
}


def respond(
    service: Callable[[], Service], path: str, content_type: str, body: bytes | None
) -> Reply:
    """Decode, call, encode. Where `service` raises EngineUnavailable, the answer is its problem."""
    route = PATHS[path]

    def reply() -> Reply:
        answer = route.operation(service(), decode(content_type, body))
        return reply_json(200, JSON, answer)

    return guarded(reply, route.shown_member)


def decode(content_type: str, body: bytes | None) -> object:
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


def guarded(work: Callable[[], Reply], shown_member: str | None = None) -> Reply:
    """The reply of `work`, or to what it raised: never an exception or a traceback."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001  (the last resort: an id instead of a traceback)
        return refuse(error, shown_member)


def refuse(error: Exception, shown_member: str | None = None) -> Reply:
    """A problem+json reply. A fault of ours is logged, and the reply has the id of that line."""
    known = error if isinstance(error, FillMaskError) else _internal(error)

    content = problem(known)
    if shown_member:
        content[shown_member] = known.detail
    return reply_json(content["status"], PROBLEM, content)


def reply_json(status: int, media_type: str, content: object) -> Reply:
    """A reply with a JSON body. Raises ValueError for NaN and infinities."""
    return Reply(status, media_type, json_text.write(content).encode())


def _internal(error: Exception) -> FillMaskError:
    import uuid  # noqa: PLC0415  (a library of its own, which no answer needs)

    request_id = str(uuid.uuid4())
    log.error("request %s failed: %s", request_id, _where(error))
    return FillMaskError("The request failed; the log has its id.", request_id=request_id)


def _where(error: Exception) -> str:
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
