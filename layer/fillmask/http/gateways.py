"""The HTTP gateways of AWS: each recognises its events, reads their request and writes the answer.

A gateway knows nothing of what is asked. ALL lists them in the order in which they are to be tried.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol, TypeVar

from fillmask.adapters import Answer, Event
from fillmask.errors import UnknownEvent
from fillmask.http.respond import PATHS, Reply

Kind = TypeVar("Kind")


class Request(NamedTuple):
    """An event's request.

    `path` is what the client asked for, `prefix` the part of it before our own paths. Header names
    are in small letters. `body` is None when the event says that it is base64 and it is not.
    """

    method: str
    path: str
    prefix: str
    headers: Mapping[str, str]
    body: bytes | None

    @property
    def route(self) -> str:
        """The path inside the application, without a trailing slash."""
        return self.path[len(self.prefix) :].rstrip("/") or "/"


class Response(NamedTuple):
    """What goes back to the client; `body` is text, or base64 of what is not UTF-8."""

    status: int
    headers: dict[str, str]
    body: str
    is_base64: bool = False

    @classmethod
    def of(cls, reply: Reply) -> "Response":
        """A reply with the headers that say what it is."""
        headers = {"content-length": str(len(reply.body)), "content-type": reply.media_type}
        return cls(reply.status, headers, reply.body.decode())

    def replaced(self, reply: Reply) -> "Response":
        """Another reply, with the headers that this one has besides (CORS)."""
        other = self.of(reply)
        return other._replace(headers=self.headers | other.headers)

    def common(self) -> Answer:
        """The members of an answer that every gateway reads."""
        return {
            "statusCode": self.status,
            "body": self.body,
            "isBase64Encoded": self.is_base64,
        }


class Gateway(Protocol):
    """One kind of HTTP event. All have a `requestContext`.

    `limit` is the name of the limit on the bytes of an answer.
    """

    limit: str

    def recognises(self, event: Event) -> bool:
        """Whether an event with a `requestContext` is of this kind."""

    def read(self, event: Event, base_path: str) -> Request:
        """The request of such an event; `base_path` is that of a custom domain, or empty.

        Raises UnknownEvent where a member is not of the type that this gateway sends.
        """

    def write(self, response: Response) -> Answer:
        """The answer in the form that this gateway passes on to the client."""


class HttpApi:
    """HTTP APIs and Function URLs: payload 2.0."""

    limit = "answer_bytes"

    def recognises(self, event: Event) -> bool:
        """See Gateway."""
        return event.get("version") == "2.0" and isinstance(
            event["requestContext"].get("http"), dict
        )

    def read(self, event: Event, base_path: str) -> Request:
        """See Gateway. The stage begins the path, unless it is $default."""
        context = event["requestContext"]
        method = _text(context["http"], "method")
        path = _text(event, "rawPath") or _text(context["http"], "path") or "/"

        prefix = _stage(context, path)
        return _request(event, method, path, prefix, base_path)

    def write(self, response: Response) -> Answer:
        """See Gateway."""
        return {**response.common(), "headers": response.headers}


class RestApi:
    """REST APIs: payload 1.0. The stage stands in the context's path only."""

    limit = "answer_bytes"

    def recognises(self, event: Event) -> bool:
        """See Gateway."""
        return "httpMethod" in event and "path" in event

    def read(self, event: Event, base_path: str) -> Request:
        """See Gateway."""
        context = event["requestContext"]
        inner = _text(event, "path") or "/"
        path = _text(context, "path") or inner

        if inner != "/" and path.endswith(inner):
            prefix = path[: -len(inner)]
        else:
            prefix = _stage(context, path)
        return _request(event, _text(event, "httpMethod"), path, prefix, base_path)

    def write(self, response: Response) -> Answer:
        """See Gateway."""
        return {**response.common(), "headers": response.headers, "multiValueHeaders": {}}


class LoadBalancer:
    """An Application Load Balancer's target group, which has no stages."""

    limit = "alb_answer_bytes"

    def recognises(self, event: Event) -> bool:
        """See Gateway."""
        return "elb" in event["requestContext"]

    def read(self, event: Event, base_path: str) -> Request:
        """See Gateway."""
        path = _text(event, "path") or "/"
        return _request(event, _text(event, "httpMethod"), path, "", base_path)

    def write(self, response: Response) -> Answer:
        """See Gateway."""
        return {**response.common(), "headers": response.headers}


class MultiValueLoadBalancer(LoadBalancer):
    """The same with the target group's attribute lambda.multi_value_headers.enabled."""

    def recognises(self, event: Event) -> bool:
        """See Gateway."""
        return super().recognises(event) and "multiValueHeaders" in event

    def write(self, response: Response) -> Answer:
        """See Gateway."""
        headers = {name: [value] for name, value in response.headers.items()}
        return {**response.common(), "multiValueHeaders": headers}


ALL: Final[tuple[Gateway, ...]] = (MultiValueLoadBalancer(), LoadBalancer(), HttpApi(), RestApi())


def _member(part: Event, name: str, kind: type[Kind]) -> Kind:
    """A member of an event, empty where it is missing or null. Raises UnknownEvent."""
    value = part.get(name)
    if value is None:
        return kind()

    if not isinstance(value, kind):
        raise UnknownEvent(
            f"The HTTP event has {name!r} of type {type(value).__name__}, not {kind.__name__}."
        )
    return value


def _text(part: Event, name: str) -> str:
    """A member that is text. Raises UnknownEvent."""
    return _encodable(name, _member(part, name, str))


def _encodable(name: str, text: str) -> str:
    """The text. Raises UnknownEvent for a lone surrogate, which no gateway can have received."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnknownEvent(f"The HTTP event has text that is not Unicode in {name!r}.") from None
    return text


def _request(event: Event, method: str, path: str, prefix: str, base_path: str) -> Request:
    if base_path and _is_under(path[len(prefix) :], base_path):
        prefix += base_path
    return Request((method or "GET").upper(), path, prefix, _headers(event), _body(event))


def _headers(event: Event) -> dict[str, str]:
    single = _member(event, "headers", dict)
    several = _member(event, "multiValueHeaders", dict)

    headers = {str(name).lower(): str(value) for name, value in single.items()}
    for name, values in several.items():
        headers[str(name).lower()] = ", ".join(map(str, values)) if isinstance(values, list) else ""

    for name, value in headers.items():
        _encodable("headers", name + value)
    return headers


def _stage(context: Event, path: str) -> str:
    """The stage, where it begins the path.

    A custom domain leaves it out. A stage that is named like a path of ours (v1) is then no prefix.
    """
    stage = f"/{_text(context, 'stage')}"
    is_prefix = len(stage) > 1 and _is_under(path, stage) and path.rstrip("/") not in PATHS
    return stage if is_prefix else ""


def _is_under(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(prefix + "/")


def _body(event: Event) -> bytes | None:
    """The bytes of a body: text, base64, nothing, or the JSON value (the console's test events)."""
    body = event.get("body")

    if body is None:
        return b""
    if not isinstance(body, str):
        return json.dumps(body).encode()
    if not event.get("isBase64Encoded"):
        return body.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return None
