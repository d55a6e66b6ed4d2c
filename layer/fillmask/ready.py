"""What is done before the first event where nobody waits for it: provisioned concurrency and SnapStart.

The engine is loaded packed (load.py); here the model runs once, the web framework answers once, and the table is
connected. A snapshot holds no open connection, and the copies made of it do not share their random numbers.
"""

import random
from typing import Final

from fillmask.errors import EngineUnavailable
from fillmask.http.gateways import HttpEvents
from fillmask.settings import Settings
from fillmask.start import Loader

HEALTH: Final = {
    "version": "2.0",
    "rawPath": "/health",
    "headers": {},
    "requestContext": {"stage": "$default", "http": {"method": "GET", "path": "/health"}},
}


def make_ready(service: Loader, http: HttpEvents, settings: Settings) -> None:
    """Load, connect and run everything once; for SnapStart, register what a snapshot needs."""
    http.answer(dict(HEALTH), None)
    try:
        service().warm_up()
    except EngineUnavailable:
        return  # logged by the loader; every answer will say so
    if settings.initialization == "snap-start":
        _register(service)
    elif service.table:
        service.table.connect_now()


def _register(service: Loader) -> None:
    """The hooks of Lambda's Python runtime. The restored copy connects beside its first answers, like any other:
    the modules are loaded by then, so that takes a quarter of the time."""
    from snapshot_restore_py import (  # noqa: PLC0415  (part of the runtime, and only there)
        register_after_restore,
        register_before_snapshot,
    )

    if service.table:
        service.table.connect_now()  # loads the SDK; the connection itself is given up again below
        register_before_snapshot(service.table.disconnect)
    register_after_restore(random.seed)
