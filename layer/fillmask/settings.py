"""What the environment may decide. handler.py reads it once; nothing else in the package does."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Row(NamedTuple):
    """One setting: its variable, its default as text, and what it does."""

    variable: str
    default: str
    help: str


ROWS: Final = (
    Row(
        "FILLMASK_MODEL_DIR", "/opt/model", "folder of the model: model.json and the files it names"
    ),
    Row(
        "FILLMASK_TABLE", "", "DynamoDB table of the shared result cache; empty: memory cache only"
    ),
    Row("FILLMASK_CACHE_TTL_SECONDS", "2592000", "how long a cached answer lives, in seconds"),
    Row("FILLMASK_MEMORY_CACHE_BYTES", "33554432", "size of the memory cache; 0 switches it off"),
    Row("FILLMASK_RESULT_QUEUE_URL", "", "SQS queue that receives the answers to queue messages"),
    Row("FILLMASK_BASE_PATH", "", "base path of a custom domain mapping, for example /nlp"),
    Row(
        "FILLMASK_CORS_ORIGINS",
        "",
        "origins allowed to call from a browser, separated by commas, or *",
    ),
    Row("FILLMASK_THREADS", "0", "threads of the engine; 0: as many as the CPUs granted"),
)


class Settings(NamedTuple):
    """The settings in use; the fields stand in the order of ROWS."""

    model_dir: str
    table: str
    cache_ttl_seconds: int
    memory_cache_bytes: int
    result_queue_url: str
    base_path: str
    cors_origins: tuple[str, ...]
    threads: int
    memory_mb: int = 0  # Lambda's memory setting; 0 elsewhere
    initialization: str = "on-demand"  # or "provisioned-concurrency", "snap-start"

    @property
    def time_is_free(self) -> bool:
        """Whether nobody waits for the initialisation, so that everything may be done in it."""
        return self.initialization in ("provisioned-concurrency", "snap-start")

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Settings":
        """The settings of an environment.

        Raises ValueError, which names the variable and the value it had.
        """
        raw = {row.variable: environment.get(row.variable) or row.default for row in ROWS}
        base_path = raw["FILLMASK_BASE_PATH"].strip("/")
        origins = [origin.strip() for origin in raw["FILLMASK_CORS_ORIGINS"].split(",")]

        return cls(
            model_dir=raw["FILLMASK_MODEL_DIR"],
            table=raw["FILLMASK_TABLE"],
            cache_ttl_seconds=_whole(raw, "FILLMASK_CACHE_TTL_SECONDS", 1),
            memory_cache_bytes=_whole(raw, "FILLMASK_MEMORY_CACHE_BYTES", 0),
            result_queue_url=raw["FILLMASK_RESULT_QUEUE_URL"],
            base_path=base_path and f"/{base_path}",
            cors_origins=tuple(filter(None, origins)),
            threads=_whole(raw, "FILLMASK_THREADS", 0),
            memory_mb=int(environment.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE") or 0),
            initialization=environment.get("AWS_LAMBDA_INITIALIZATION_TYPE") or "on-demand",
        )


def _whole(raw: Mapping[str, str], variable: str, least: int) -> int:
    value = raw[variable]

    if not value.isdecimal() or int(value) < least:
        raise ValueError(f"{variable} must be a whole number of at least {least}, not {value!r}")
    return int(value)
