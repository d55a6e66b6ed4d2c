"""One HTTP request to an operation, answered without a web framework: (status, headers, body).

Both ways in end here, the lean one (http_events.py) and FastAPI's routes (http_api.py), so they agree by
construction. Knows JSON and status numbers; not paths, events or ASGI.
"""

import logging
import uuid
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from fillmask import limits
from fillmask.errors import FillMaskError, InvalidJson, UnsupportedMediaType
from fillmask.http import huggingface as hf
from fillmask.operations.service import Service
from fillmask.problem import problem
from fillmask.requests import json_text

JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"

log = logging.getLogger("fillmask")


class Reply(NamedTuple):
    """What goes back over HTTP, but for the framing."""

    status: int
    media_type: str
    body: bytes


def _native(operation: str) -> Callable[[Service, object], Any]:
    return lambda service, request: service.answer(operation, request)


PATHS: Final[dict[str, Callable[[Service, object], Any]]] = {  # what a POST to a path asks for
    "/v1/fill-mask": _native("fill-mask"),
    "/v1/embeddings": _native("embed"),
    "/v1/similarity": _native("similarity"),
    "/hf/fill-mask": hf.fill_mask,
    "/hf/feature-extraction": hf.feature_extraction,
    "/hf/sentence-similarity": hf.sentence_similarity,
}


# Clients of these paths put just one member of a body into the message of what they raise.
SHOWN: Final = {"/v1/embeddings": "message"} | {
    path: "error" for path in PATHS if path.startswith("/hf/")
}


def respond(
    service: Callable[[], Service], path: str, content_type: str, body: bytes | None
) -> Reply:
    """Decode, call, encode. `service` may raise EngineUnavailable: then so does every operation, as a 503."""
    return guarded(
        lambda: reply_json(200, JSON, PATHS[path](service(), decode(content_type, body))),
        SHOWN.get(path),
    )


def decode(content_type: str, body: bytes | None) -> Any:
    """The JSON value of a body (None: it was not the base64 it was said to be); raises InvalidJson,
    UnsupportedMediaType or TooLarge."""
    if body is None:
        raise InvalidJson("The body is not the base64 it is said to be.")
    limits.check("body_bytes", len(body), "bytes of the body")
    try:
        return json_text.read(body)
    except InvalidJson:
        kind = content_type.partition(";")[0].strip().lower()
        if kind and kind != JSON and not kind.endswith("+json"):
            raise UnsupportedMediaType("The body must be JSON, of type application/json.") from None
        raise


def refuse(error: FillMaskError, shown: str | None = None) -> Reply:
    """A problem+json reply, with its detail a second time as the member `shown` if there is one."""
    content = problem(error) | ({shown: error.detail} if shown else {})
    return reply_json(content["status"], PROBLEM, content)


def guarded(work: Callable[[], Reply], shown: str | None = None) -> Reply:
    """The reply of `work`, or the problem that it raised; never an exception, never a traceback."""
    try:
        return work()
    except FillMaskError as error:
        return refuse(error, shown)
    except Exception as error:  # noqa: BLE001  the last resort: a 500 with an id instead of a traceback
        number = str(uuid.uuid4())
        log.error("request %s failed: %s", number, where(error))
        return refuse(
            FillMaskError("The request failed; the log has its id.", request_id=number), shown
        )


def where(error: BaseException) -> str:
    """The type of an error and the places it came through: what a log may hold, since messages can quote text."""
    places, trace = [], error.__traceback__
    while trace:
        code = trace.tb_frame.f_code
        places.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return f"{type(error).__name__} at {' > '.join(places[-6:])}"


def reply_json(status: int, media_type: str, content: Any) -> Reply:
    """A reply with a JSON body; NaN cannot pass."""
    return Reply(status, media_type, json_text.write(content).encode())
