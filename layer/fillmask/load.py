"""Put the service together from the settings: the session on one thread while the tokenizer loads on another."""

import logging
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

from fillmask import manifest
from fillmask.cache import Cache, MemoryCache, TieredCache
from fillmask.errors import EngineUnavailable
from fillmask.settings import Settings

log = logging.getLogger("fillmask")


def load_service(settings: Settings) -> Callable[[], Any]:
    """Load now; the returned function gives the Service, or raises the EngineUnavailable that loading met.

    A model that cannot be loaded must not end the process: the health check needs none."""
    try:
        service = _service(settings)
    except EngineUnavailable as error:
        log.error("the model could not be loaded: %s", error.detail)
        return _unavailable
    return lambda: service


def _unavailable() -> Any:
    raise EngineUnavailable("The model could not be loaded; the log says why.")


def _service(settings: Settings) -> Any:
    folder = Path(settings.model_dir)
    described = manifest.read(folder)
    engine = Loading(lambda: _engine(folder, described, settings.threads))
    from fillmask.service import Service  # noqa: PLC0415  (imported beside the engine's thread)
    from fillmask.text import TextCodec  # noqa: PLC0415
    codec = TextCodec.load(folder, described)
    return Service(engine.result(), codec, build_cache(settings))


def _engine(folder: Path, described: manifest.Manifest, threads: int) -> Any:
    from fillmask.onnx_engine import OnnxEngine  # noqa: PLC0415  (numpy and onnxruntime, on the thread)
    return OnnxEngine.load(folder, described, threads)


def build_cache(settings: Settings) -> Cache:
    """Memory alone, or memory before the shared table when one is named."""
    memory = MemoryCache(settings.memory_cache_bytes, settings.cache_ttl_seconds)
    if not settings.table:
        return memory
    from fillmask.cache_lazy import LazyTableCache  # noqa: PLC0415  (nothing of AWS without a table)
    from fillmask.cache_table import connect  # noqa: PLC0415
    return TieredCache(memory, LazyTableCache(lambda: connect(settings.table, settings.cache_ttl_seconds)))


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
