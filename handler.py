"""The Lambda entry: recognises the event and hands it to the adapter that speaks its language.

Everything that lives long is built here, once, while the module is imported: on Lambda that is before the
first event, with the CPU of a whole machine. This is the only module with globals and the only reader of the
environment.
"""

import os

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # no thread pool for a single text

from typing import Any

from fillmask.settings import Settings
from fillmask.start import Loader

SETTINGS = Settings.from_env(os.environ)
SERVICE = Loader(SETTINGS)  # the session is built on a thread while the imports below go on

from fillmask import direct as direct_api  # noqa: E402
from fillmask.errors import UnknownEvent  # noqa: E402
from fillmask.http.gateways import HttpEvents  # noqa: E402
from fillmask.http.gateways import kind as http_kind  # noqa: E402
from fillmask.queue.messages import QueueAdapter, is_queue_event  # noqa: E402
from fillmask.queue.results import ResultQueue  # noqa: E402

SERVICE.finish()
HTTP = HttpEvents(SERVICE, SETTINGS)
QUEUE = QueueAdapter(
    lambda operation, request: SERVICE().answer(operation, request),
    ResultQueue(SETTINGS.result_queue_url) if SETTINGS.result_queue_url else None,
)

if SETTINGS.time_is_free:
    from fillmask.ready import make_ready

    make_ready(SERVICE, HTTP, SETTINGS)


def handler(event: Any, context: Any) -> Any:
    """Answer one event; raise UnknownEvent for one that is none of ours."""
    if http_kind(event):
        return HTTP.answer(event, context)
    if is_queue_event(event):
        return QUEUE.handle(event, context.get_remaining_time_in_millis)
    if direct_api.is_warm_up(event):
        return SERVICE().warm_up()
    if direct_api.is_direct(event):
        return direct_api.answer(SERVICE, event)
    raise UnknownEvent(
        'Expected an API Gateway, Function URL or ALB request, an SQS batch, {"text": "..."}, or {"warmup": true}.'
    )
