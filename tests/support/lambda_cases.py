"""The function and its events, for the tests that run it under the real runtime client."""

from typing import Final

import pytest

from builder.layers import assemble as layers
from support import lambda_opt
from support.http_events_made import dressed
from support.samples import Event

WARM_UP: Final = ("warmup", "eventbridge")
PYTHONS: Final = sorted({lambda_opt.LOCAL, layers.DEFAULT_PYTHON})


@pytest.fixture(scope="module", params=PYTHONS)
def deployed(request: pytest.FixtureRequest) -> lambda_opt.Layout:
    """The function with its layers, for this Python and for the layers' own if it is installed."""
    try:
        return lambda_opt.layout(request.param)
    except LookupError as error:
        pytest.skip(str(error))


def get(path: str) -> Event:
    """An HTTP API's event for GET `path`."""
    return dressed("http_api_v2", path, method="GET")
