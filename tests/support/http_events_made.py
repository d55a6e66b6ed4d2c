"""One HTTP request dressed as each event of AWS: the sample events, changed where they differ."""

import base64
import json
from typing import Any, NamedTuple

from support.samples import Event, sample_event

KINDS = ("http_api_v2", "function_url", "rest_v1", "alb", "alb_multi")
STAGED = ("http_api_v2", "rest_v1")


class Answer(NamedTuple):
    """What a gateway sends on to the client."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def dressed(
    kind: str,
    path: str,
    body: bytes | str | None = None,
    *,
    method: str = "POST",
    stage: str = "",
    headers: dict[str, str] | None = None,
) -> Event:
    """A request as an event of this kind.

    Bytes go in as base64. `path` is the application's own, behind `stage` if there is one.
    `headers` are put over those of the sample.
    """
    event = sample_event(kind)
    text = base64.b64encode(body).decode() if isinstance(body, bytes) else body
    event |= {"body": text, "isBase64Encoded": isinstance(body, bytes)}
    for name, value in (headers or {}).items():
        _set_header(event, name, value)
    context = event["requestContext"]
    outside = f"/{stage}{path}" if stage else path
    if kind in {"http_api_v2", "function_url"}:
        context["http"] |= {"method": method, "path": outside}
        return event | {
            "rawPath": outside,
            "requestContext": context | {"stage": stage or "$default"},
        }
    if kind == "rest_v1":
        stage = stage or context["stage"]
        context |= {"path": f"/{stage}{path}", "httpMethod": method, "stage": stage}
    return event | {"path": path, "httpMethod": method, "requestContext": context}


def _set_header(event: Event, name: str, value: str) -> None:
    """Puts a header where this kind of event has its headers, in place of one of that name."""
    for field in ("headers", "multiValueHeaders"):
        if field in event:
            others = {key: was for key, was in event[field].items() if key.lower() != name}
            event[field] = others | {name: [value] if field == "multiValueHeaders" else value}


def answer(event: Event) -> Answer:
    """What the client gets of a handler's answer, whichever form the gateway wants."""
    headers = (
        event["headers"]
        if "headers" in event
        else {name: ", ".join(values) for name, values in event["multiValueHeaders"].items()}
    )
    body = base64.b64decode(event["body"]) if event["isBase64Encoded"] else event["body"].encode()
    return Answer(event["statusCode"], headers, body)
