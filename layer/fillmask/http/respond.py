"""One HTTP request to an operation, answered without a web framework.

Both the lean way (application.py) and FastAPI's routes (app.py) end here, so they agree by
construction. Knows JSON, media types and problems; not events or ASGI.
"""

import logging
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from fillmask import limits
from fillmask.adapters import Answer
from fillmask.errors import FillMaskError, InvalidJson, UnsupportedMediaType
from fillmask.http import huggingface, openai
from fillmask.operations.service import Service
from fillmask.problem import problem
from fillmask.requests import json_text

JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"
TRACE_DEPTH: Final = 6  # innermost calls of a trace that the log shows

Operation = Callable[[Service, object], Any]  # of a JSON value, to a JSON value
ErrorMember = Callable[[Answer], Answer | str]  # of a problem

log = logging.getLogger("fillmask")


class Route(NamedTuple):
    """What a POST to a path asks for.

    `error_member` makes the member "error" of a problem, which is all that the clients of the path
    show to their users. None where a client reads problems.
    """

    operation: Operation
    error_member: ErrorMember | None = None


class Reply(NamedTuple):
    """Status, media type and bytes of an answer."""

    status: int
    media_type: str
    body: bytes


def _native(name: str) -> Operation:
    return lambda service, request: service.answer(name, request)


PATHS: Final = {
    "/v1/fill-mask": Route(_native("fill-mask")),
    "/v1/embeddings": Route(openai.embeddings, openai.error_member),
    "/v1/similarity": Route(_native("similarity")),
    "/hf/fill-mask": Route(huggingface.fill_mask, huggingface.error_member),
    "/hf/feature-extraction": Route(huggingface.feature_extraction, huggingface.error_member),
    "/hf/sentence-similarity": Route(huggingface.sentence_similarity, huggingface.error_member),
}


def respond(
    service: Callable[[], Service], path: str, content_type: str, body: bytes | None
) -> Reply:
    """Decode, call, encode. Where `service` raises EngineUnavailable, the answer is its problem."""
    route = PATHS[path]

    def reply() -> Reply:
        answer = route.operation(service(), decode(content_type, body))
        return reply_json(200, JSON, answer)

    return guarded(reply, route.error_member)


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


def guarded(work: Callable[[], Reply], error_member: ErrorMember | None = None) -> Reply:
    """The reply of `work`, or to what it raised: never an exception or a traceback."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001  (the last resort: an id instead of a traceback)
        return refuse(error, error_member)


def refuse(error: Exception, error_member: ErrorMember | None = None) -> Reply:
    """A problem+json reply. A fault of ours is logged, and the reply has the id of that line."""
    known = error if isinstance(error, FillMaskError) else _internal(error)

    content = problem(known)
    if error_member:
        content["error"] = error_member(content)
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
