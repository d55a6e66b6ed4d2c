"""The service put together: the session's construction on a thread, everything else meanwhile.

Importing this module imports numpy and onnxruntime, which take longest at a cold start. Building a
session from memory-mapped weights releases the interpreter's lock, so whoever has a Loader imports
the rest meanwhile.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Generic, TypeVar

from fillmask.adapters import Answer
from fillmask.errors import EngineUnavailable
from fillmask.model import cpus, manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.settings import Settings

if TYPE_CHECKING:
    from fillmask.cache.lazy import LazyTableCache
    from fillmask.cache.memory import Cache
    from fillmask.http.application import HttpApplication
    from fillmask.operations.service import Service

log = logging.getLogger("fillmask")

Value = TypeVar("Value")


class Loader:
    """Calling it returns the Service, or raises EngineUnavailable when the model failed to load.

    A model that cannot be loaded does not end the process: the health check needs none.
    """

    table: "LazyTableCache | None" = None

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._folder = Path(settings.model_dir)
        self._service: Service | None = None
        self._engine: Future[OnnxEngine] | None = None
        self._failed = False

        try:
            self._manifest = manifest.read(self._folder)
        except EngineUnavailable as error:
            self._fail(error)
        else:
            self._engine = Future(self._load_engine)

    def finish(self) -> None:
        """Waits until everything is loaded; a failure is logged here and raised by later calls."""
        if self._service is not None or self._failed:
            return
        try:
            self._service = self._assemble()
        except EngineUnavailable as error:
            self._fail(error)

    def __call__(self) -> "Service":
        """The service."""
        self.finish()
        if self._service is None:
            raise EngineUnavailable("The model could not be loaded; the log says why.")
        return self._service

    def answer(self, operation: str, request: object) -> Answer:
        """The service's answer to a request. Raises FillMaskError."""
        return self().answer(operation, request)

    def _load_engine(self) -> OnnxEngine:
        settings = self._settings
        threads = settings.threads or cpus.threads(cpus.granted(settings.memory_mb))
        packed = settings.time_is_free
        return OnnxEngine.load(self._folder, self._manifest, threads, packed=packed)

    def _assemble(self) -> "Service":
        # These imports go on while the engine's thread builds the session.
        from fillmask.model.text import TextCodec  # noqa: PLC0415
        from fillmask.operations.service import Service  # noqa: PLC0415

        codec = TextCodec.load(self._folder, self._manifest)
        cache = self._build_cache()
        assert self._engine is not None  # noqa: S101  (there is one unless loading has failed)
        return Service(self._engine.result(), codec, cache)

    def _build_cache(self) -> "Cache":
        """Memory alone, or memory before the shared table when a table is named."""
        from fillmask.cache.memory import MemoryCache, TieredCache  # noqa: PLC0415

        settings = self._settings
        memory = MemoryCache(settings.memory_cache_bytes, settings.cache_ttl_seconds)
        if not settings.table:
            return memory

        # Only where there is a table.
        from fillmask.cache.lazy import LazyTableCache  # noqa: PLC0415
        from fillmask.cache.table import connect  # noqa: PLC0415

        self.table = LazyTableCache(lambda: connect(settings.table, settings.cache_ttl_seconds))
        return TieredCache(memory, self.table)

    def _fail(self, error: EngineUnavailable) -> None:
        log.error("the model could not be loaded: %s", error.detail)
        self._failed = True


class Future(Generic[Value]):
    """A value being made on a thread; concurrent.futures would take longer to import than this."""

    def __init__(self, work: Callable[[], Value]) -> None:
        self._value: list[Value] = []  # one, once it is made
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, args=(work,))
        self._thread.start()

    def _run(self, work: Callable[[], Value]) -> None:
        try:
            self._value.append(work())
        except BaseException as error:  # noqa: BLE001  (raised again where the value is wanted)
            self._error = error

    def result(self) -> Value:
        """Waits for the value. Raises what making it raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._value[0]


def make_ready(loader: Loader, application: "HttpApplication", settings: Settings) -> None:
    """Does before the first event all that would delay it, where nobody waits for initialisation.

    That is so with provisioned concurrency and SnapStart. The engine is loaded packed; here the web
    framework and the model run once, and the table is connected.
    """
    from fillmask.http.gateways import Request  # noqa: PLC0415  (imported by the handler by now)

    health = Request("GET", "/health", prefix="", headers={}, body=b"")
    application.answer(health)

    try:
        loader().warm_up()
    except EngineUnavailable:
        return  # logged by the loader; every answer will say so

    if settings.initialization == "snap-start":
        _prepare_snapshot(loader)
    elif loader.table:
        loader.table.connect_now()


def _prepare_snapshot(loader: Loader) -> None:
    """Registers the hooks of Lambda's Python runtime.

    A snapshot must hold no open connection, and its copies must not share their random numbers. A
    restored copy connects beside its first answers, like any other instance; its modules are loaded
    by then, so that takes a quarter of the time.
    """
    import random  # noqa: PLC0415  (not on the way to a first answer)

    # Part of Lambda's runtime, and only there.
    from snapshot_restore_py import (  # noqa: PLC0415
        register_after_restore,
        register_before_snapshot,
    )

    if loader.table:
        loader.table.connect_now()  # loads the SDK; the connection itself is given up again below
        register_before_snapshot(loader.table.disconnect)
    register_after_restore(random.seed)
