"""Put the service together: the session's construction on a thread, everything else beside it.

Importing this module imports numpy and onnxruntime, the long pole of a cold start. Building a session from
memory-mapped weights releases the interpreter's lock, so whoever has a Loader imports the rest meanwhile.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from fillmask.errors import EngineUnavailable
from fillmask.model import cpus, manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.settings import Settings

if TYPE_CHECKING:
    from fillmask.cache.lazy import LazyTableCache
    from fillmask.cache.memory import Cache
    from fillmask.operations.service import Service

log = logging.getLogger("fillmask")


class Loader:
    """Calling it gives the Service, or raises the EngineUnavailable that loading met.

    A model that cannot be loaded does not end the process: the health check needs none."""

    table: "LazyTableCache | None" = None

    def __init__(self, settings: Settings) -> None:
        self._settings, self._folder = settings, Path(settings.model_dir)
        self._made: Service | None = None
        self._engine: Loading | None = None
        self._failure: EngineUnavailable | None = None
        try:
            self._manifest = manifest.read(self._folder)
            threads = settings.threads or cpus.threads(cpus.granted(settings.memory_mb))
            self._engine = Loading(
                lambda: OnnxEngine.load(
                    self._folder, self._manifest, threads, packed=settings.time_is_free
                )
            )
        except EngineUnavailable as error:
            self._fail(error)

    def finish(self) -> None:
        """Wait until everything is loaded; a failure is logged here and raised by later calls."""
        if self._made is None and self._failure is None:
            try:
                self._made = self._service()
            except EngineUnavailable as error:
                self._fail(error)

    def __call__(self) -> "Service":
        """The service."""
        self.finish()
        if self._made is None:
            raise EngineUnavailable("The model could not be loaded; the log says why.")
        return self._made

    def _service(self) -> "Service":
        from fillmask.model.text import TextCodec  # noqa: PLC0415
        from fillmask.operations.service import Service  # noqa: PLC0415  (beside the engine's thread)

        codec = TextCodec.load(self._folder, self._manifest)
        cache = self._cache()
        assert self._engine is not None  # noqa: S101  (there is one unless there is a failure)
        return Service(self._engine.result(), codec, cache)

    def _cache(self) -> "Cache":
        """Memory alone, or memory before the shared table when one is named."""
        from fillmask.cache.memory import MemoryCache, TieredCache  # noqa: PLC0415

        settings = self._settings
        memory = MemoryCache(settings.memory_cache_bytes, settings.cache_ttl_seconds)
        if not settings.table:
            return memory
        from fillmask.cache.lazy import LazyTableCache  # noqa: PLC0415  (nothing of AWS without a table)
        from fillmask.cache.table import connect  # noqa: PLC0415

        self.table = LazyTableCache(lambda: connect(settings.table, settings.cache_ttl_seconds))
        return TieredCache(memory, self.table)

    def _fail(self, error: EngineUnavailable) -> None:
        log.error("the model could not be loaded: %s", error.detail)
        self._failure = error


class Loading:
    """A value being made on a thread; `result` waits for it and raises what it raised."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._outcome: list[Any] = []
        self._thread = Thread(target=self._run, args=(work,))
        self._thread.start()

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            self._outcome += [work(), None]
        except BaseException as error:  # noqa: BLE001  raised again where the result is wanted
            self._outcome += [None, error]

    def result(self) -> Any:
        """The value."""
        self._thread.join()
        value, error = self._outcome
        if error is not None:
            raise error
        return value
