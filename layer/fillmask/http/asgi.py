"""Between a request that was read already and ASGI: the one handler that Mangum is given."""

import base64
from typing import Final
from urllib.parse import unquote

from mangum.types import LambdaConfig, LambdaContext, Scope
from mangum.types import Response as AsgiResponse

from fillmask.http.gateways import Request, Response

# An ASGI extension of ours: the event said that its body is base64, and it is not.
MALFORMED_BODY: Final = "fillmask.malformed_body"


class RequestHandler:
    """Mangum's LambdaHandler for a Request, whichever gateway it came from."""

    def __init__(self, request: Request, context: LambdaContext, config: LambdaConfig) -> None:
        self._request = request

    @classmethod
    def infer(cls, request: Request, context: LambdaContext, config: LambdaConfig) -> bool:
        """Every event that Mangum gets from us is a Request."""
        return True

    @property
    def body(self) -> bytes:
        """The request's bytes."""
        return self._request.body or b""

    @property
    def scope(self) -> Scope:
        """ASGI's connection scope. `root_path` is what the gateway puts before our own paths."""
        request = self._request
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": request.headers.get("x-forwarded-proto", "https"),
            "path": unquote(request.path),
            "raw_path": None,
            "root_path": unquote(request.prefix),
            "query_string": b"",
            "headers": [[name.encode(), value.encode()] for name, value in request.headers.items()],
            "server": None,
            "client": None,
            "extensions": {MALFORMED_BODY: {}} if request.body is None else {},
        }

    def __call__(self, response: AsgiResponse) -> Response:
        """The application's response; what is not UTF-8 travels as base64."""
        headers: dict[str, str] = {}
        for raw_name, value in response["headers"]:
            name = raw_name.decode().lower()
            before = f"{headers[name]}, " if name in headers else ""
            headers[name] = before + value.decode()

        try:
            return Response(response["status"], headers, response["body"].decode())
        except UnicodeDecodeError:
            body = base64.b64encode(response["body"]).decode()
            return Response(response["status"], headers, body, is_base64=True)
