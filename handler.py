"""The Lambda entry: asks each adapter in turn whether an event is its own, and lets it answer.

Everything that lives long is built here, once, while the module is imported: on Lambda that is
before the first event, with the CPU of a whole machine. This is the only module with globals and
the only reader of the environment.
"""

import os

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # no thread pool for a single text

from typing import Any

from fillmask.settings import Settings
from fillmask.start import Loader, make_ready

SETTINGS = Settings.from_env(os.environ)
SERVICE = Loader(SETTINGS)  # the session is built on a thread while the imports below go on

from fillmask.adapters import Adapter  # noqa: E402
from fillmask.direct import DirectAdapter, WarmUpAdapter  # noqa: E402
from fillmask.errors import UnknownEvent  # noqa: E402
from fillmask.http.application import HttpApplication, adapters  # noqa: E402
from fillmask.queue.messages import QueueAdapter  # noqa: E402
from fillmask.queue.results import ResultQueue  # noqa: E402

SERVICE.finish()
HTTP = HttpApplication(SERVICE, SETTINGS)
RESULTS = ResultQueue(SETTINGS.result_queue_url) if SETTINGS.result_queue_url else None
ADAPTERS: tuple[Adapter, ...] = (
    *adapters(HTTP),
    QueueAdapter(SERVICE.answer, RESULTS),
    WarmUpAdapter(SERVICE),
    DirectAdapter(SERVICE),
)

if SETTINGS.time_is_free:
    make_ready(SERVICE, HTTP, SETTINGS)


def handler(event: Any, context: Any) -> Any:
    """Answer one event; raise UnknownEvent for one that no adapter recognises."""
    for adapter in ADAPTERS:
        if adapter.recognises(event):
            return adapter.answer(event, context)

    raise UnknownEvent(
        "Expected an API Gateway, Function URL or ALB request, an SQS batch, "
        '{"text": "..."}, or {"warmup": true}.'
    )
