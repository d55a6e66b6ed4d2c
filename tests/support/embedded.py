"""The embedded model, loaded once for the whole run: loading is the costly part."""

from functools import cache

from fillmask.cache.memory import MemoryCache
from fillmask.model import manifest
from fillmask.model.onnx_engine import OnnxEngine
from fillmask.model.text import TextCodec
from fillmask.operations.service import Service
from support.paths import MODEL


@cache
def engine() -> OnnxEngine:
    """The embedded model's engine, on one thread."""
    return OnnxEngine.load(MODEL, manifest.read(MODEL), threads=1)


@cache
def codec() -> TextCodec:
    """The embedded model's tokenizer."""
    return TextCodec.load(MODEL, engine().manifest)


@cache
def service() -> Service:
    """The service with a cache that keeps nothing: a second answer is computed like the first."""
    return Service(engine(), codec(), MemoryCache(0, 1))


def remembering() -> Service:
    """A service of its own with an empty memory cache."""
    return Service(engine(), codec(), MemoryCache(2**25, 3600))
