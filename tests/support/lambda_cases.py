"""Events and the function under them, shared by the tests that run it under the real runtime client."""

import json
from typing import Any, Final

import pytest

from builder.layers import assemble as layers
from support import lambda_opt
from support.paths import EVENTS

HTTP: Final = ("http_api_v2", "function_url", "rest_v1", "alb", "alb_multi")
WARM_UP: Final = ("warmup", "eventbridge")
PYTHONS: Final = sorted({lambda_opt.LOCAL, layers.DEFAULT_PYTHON})


@pytest.fixture(scope="module", params=PYTHONS)
def deployed(request: pytest.FixtureRequest) -> lambda_opt.Layout:
    """The function with its layers: for this Python, and for the layers' own where it is at hand."""
    try:
        return lambda_opt.layout(request.param)
    except LookupError as error:
        pytest.skip(str(error))


def event(name: str) -> dict[str, Any]:
    """One whole event of tests/events."""
    loaded = json.loads((EVENTS / f"{name}.json").read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def get(path: str) -> dict[str, Any]:
    """An HTTP API's event for GET `path`."""
    asked = event("http_api_v2")
    asked["requestContext"]["http"] |= {"method": "GET", "path": path}
    return {**asked, "rawPath": path, "body": None}
