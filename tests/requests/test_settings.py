"""Settings: every variable, what an empty one means, and the sentence about one that is wrong."""

import pytest

from fillmask.settings import ROWS, Settings


def test_defaults() -> None:
    settings = Settings.from_env({})

    assert settings == Settings(
        model_dir="/opt/model",
        table="",
        cache_ttl_seconds=2_592_000,
        memory_cache_bytes=33_554_432,
        result_queue_url="",
        base_path="",
        cors_origins=(),
        threads=0,
    )


def test_an_empty_variable_means_its_default() -> None:
    assert Settings.from_env({row.variable: "" for row in ROWS}) == Settings.from_env({})


def test_every_variable_is_read() -> None:
    settings = Settings.from_env(
        {
            "FILLMASK_MODEL_DIR": "/models/small",
            "FILLMASK_TABLE": "answers",
            "FILLMASK_CACHE_TTL_SECONDS": "60",
            "FILLMASK_MEMORY_CACHE_BYTES": "0",
            "FILLMASK_RESULT_QUEUE_URL": "https://sqs/results",
            "FILLMASK_BASE_PATH": "/nlp",
            "FILLMASK_CORS_ORIGINS": "https://a.example, https://b.example",
            "FILLMASK_THREADS": "2",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start",
        }
    )

    assert settings == Settings(
        model_dir="/models/small",
        table="answers",
        cache_ttl_seconds=60,
        memory_cache_bytes=0,
        result_queue_url="https://sqs/results",
        base_path="/nlp",
        cors_origins=("https://a.example", "https://b.example"),
        threads=2,
        memory_mb=1769,
        initialization="snap-start",
    )


@pytest.mark.parametrize(
    ("value", "path"),
    [("/", ""), ("nlp", "/nlp"), ("/nlp/", "/nlp"), ("/nlp/v2", "/nlp/v2"), ("//", "")],
)
def test_a_base_path_begins_with_a_slash_and_ends_without(value: str, path: str) -> None:
    assert Settings.from_env({"FILLMASK_BASE_PATH": value}).base_path == path


@pytest.mark.parametrize(
    ("value", "origins"),
    [("*", ("*",)), (" , ", ()), ("https://a.example,", ("https://a.example",))],
)
def test_origins_are_a_list(value: str, origins: tuple[str, ...]) -> None:
    assert Settings.from_env({"FILLMASK_CORS_ORIGINS": value}).cors_origins == origins


@pytest.mark.parametrize(
    ("variable", "least"),
    [
        ("FILLMASK_CACHE_TTL_SECONDS", 1),
        ("FILLMASK_MEMORY_CACHE_BYTES", 0),
        ("FILLMASK_THREADS", 0),
    ],
)
@pytest.mark.parametrize("value", ["-1", "1.5", "many", "½", " 3"])
def test_a_wrong_number_is_refused_by_name_and_value(variable: str, least: int, value: str) -> None:
    with pytest.raises(ValueError, match=variable) as refusal:
        Settings.from_env({variable: value})

    assert f"at least {least}" in str(refusal.value)
    assert repr(value) in str(refusal.value)


def test_a_cache_that_forgets_at_once_is_refused() -> None:
    with pytest.raises(ValueError, match="FILLMASK_CACHE_TTL_SECONDS"):
        Settings.from_env({"FILLMASK_CACHE_TTL_SECONDS": "0"})


@pytest.mark.parametrize(
    ("initialization", "free"),
    [("on-demand", False), ("provisioned-concurrency", True), ("snap-start", True), ("", False)],
)
def test_time_is_free_where_nobody_waits(initialization: str, free: bool) -> None:
    settings = Settings.from_env({"AWS_LAMBDA_INITIALIZATION_TYPE": initialization})

    assert settings.time_is_free == free
