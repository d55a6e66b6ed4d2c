"""The built layers under the real runtime client, with nothing else on the search path."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builder.layers import assemble as layers
from builder.layers import wheels
from fillmask.http.info import PACKAGES
from support.http_events_made import KINDS
from support.lambda_cases import WARM_UP, deployed, get
from support.lambda_opt import LambdaProcess, Layout
from support.paths import TESTS
from support.samples import sample_event

__all__ = ["deployed"]
ANYWHERE = ("torch", "transformers", "huggingface_hub", "google.protobuf", "onnx")


@pytest.fixture(scope="module")
def probed(deployed: Layout, tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """The same with lambda_probe.py beside handler.py."""
    task = tmp_path_factory.mktemp("task")
    shutil.copytree(deployed.task, task, dirs_exist_ok=True)
    shutil.copy(TESTS / "support" / "lambda_probe.py", task)
    return deployed._replace(task=task)


@pytest.fixture(scope="module")
def running(deployed: Layout) -> Iterator[LambdaProcess]:
    """One instance that answers one event after the other."""
    with LambdaProcess(deployed) as process:
        yield process


def masks(result: Any) -> Any:
    """Candidates with their scores, of every text."""
    return [answered["masks"] for answered in result["results"]]


@pytest.mark.parametrize("name", KINDS)
def test_answers_are_the_same_through_every_gateway(running: LambdaProcess, name: str) -> None:
    direct = running.invoke(sample_event("direct"))
    assert direct.error is None
    assert masks(direct.payload)[0][0]["candidates"][0]["token"] == "上"
    through = running.invoke(sample_event(name)).payload
    assert through["statusCode"] == 200
    assert through["isBase64Encoded"] is False
    assert masks(json.loads(through["body"])) == masks(direct.payload)
    headers = through["multiValueHeaders" if name == "alb_multi" else "headers"]
    assert headers["content-type"] in ("application/json", ["application/json"])


def test_answers_queue_messages(running: LambdaProcess) -> None:
    answer = running.invoke(sample_event("sqs"))
    assert (answer.payload, answer.error) == ({"batchItemFailures": []}, None)


@pytest.mark.parametrize("name", WARM_UP)
def test_answers_a_warm_up(running: LambdaProcess, name: str) -> None:
    assert running.invoke(sample_event(name)).payload == {"ok": True}


@pytest.mark.parametrize("path", ["/health", "/openapi.json", "/docs"])
def test_answers_what_needs_the_whole_framework(running: LambdaProcess, path: str) -> None:
    assert running.invoke(get(path)).payload["statusCode"] == 200


def test_answers_info_with_the_pinned_versions(running: LambdaProcess) -> None:
    told = json.loads(running.invoke(get("/info")).payload["body"])["versions"]
    pins = dict(pin.split("==") for pin in wheels.pinned(layers.ROOT / "requirements.txt"))
    assert {name: told[name] for name in PACKAGES} == {name: pins[name] for name in PACKAGES}


def test_an_unknown_event_is_refused_by_name_of_what_was_expected(running: LambdaProcess) -> None:
    answer = running.invoke(sample_event("s3"))
    assert answer.payload is None
    assert answer.error is not None
    assert answer.error["errorType"] == "UnknownEvent"
    assert "SQS" in answer.error["errorMessage"]
    assert "example-bucket" not in json.dumps(answer.error) + running.log


def test_the_log_holds_none_of_the_callers_text(deployed: Layout) -> None:
    with LambdaProcess(deployed) as process:
        for text in ("秘密的[MASK]话", "没有面具的秘密"):
            process.invoke({"text": text})
        process.invoke({"text": 5, "targets": "秘密"})
        assert "秘密" not in process.log
        assert "\\u79d8" not in process.log


@pytest.mark.parametrize(
    ("name", "absent"),
    [
        ("direct", ("fastapi", "starlette", "pydantic", "mangum", "boto3", "botocore")),
        ("sqs", ("fastapi", "starlette", "pydantic", "mangum", "boto3", "botocore")),
        ("http_api_v2", ("boto3", "botocore")),
        ("warmup", ("boto3", "botocore")),
    ],
)
def test_an_answer_loads_only_what_it_needs(
    probed: Layout, name: str, absent: tuple[str, ...]
) -> None:
    with LambdaProcess(probed, handler="lambda_probe.handler") as process:
        assert process.invoke(sample_event(name)).error is None
        loaded = process.invoke({"probe": "modules"}).payload
    assert {"onnxruntime", "tokenizers"} <= set(loaded)
    assert not set(loaded) & {*absent, *ANYWHERE}
    standard = str(Path(probed.interpreter.path).resolve().parents[1])
    known = (f"{probed.task}/", f"{probed.opt}/", f"{probed.runtime}/", standard, sys.base_prefix)
    strangers = {file for file in loaded.values() if file and not file.startswith(known)}
    assert {Path(file).name for file in strangers} <= {"lambda_bootstrap.py"}
    assert not [file for file in loaded.values() if file and "site-packages" in file]


def test_a_package_missing_from_the_layer_is_noticed(deployed: Layout, tmp_path: Path) -> None:
    python = tmp_path / "opt" / "python"
    python.mkdir(parents=True)
    for path in (deployed.opt / "python").iterdir():
        if path.name != "tokenizers":
            (python / path.name).symlink_to(path)
    (tmp_path / "opt" / "model").symlink_to(deployed.opt / "model")
    with (
        LambdaProcess(deployed._replace(opt=tmp_path / "opt")) as process,
        pytest.raises(AssertionError, match="No module named 'tokenizers'"),
    ):
        process.ready()


def test_a_wrong_setting_is_named_when_the_function_starts(deployed: Layout) -> None:
    with (
        LambdaProcess(deployed, {"FILLMASK_THREADS": "many"}) as process,
        pytest.raises(AssertionError, match=r"FILLMASK_THREADS .* 'many'"),
    ):
        process.ready()


def test_without_a_model_only_the_health_check_answers(deployed: Layout, tmp_path: Path) -> None:
    with LambdaProcess(deployed, {"FILLMASK_MODEL_DIR": str(tmp_path)}) as process:
        assert process.invoke(get("/health")).payload["statusCode"] == 200
        assert process.invoke(sample_event("http_api_v2")).payload["statusCode"] == 503
        failed = process.invoke(sample_event("direct")).error
        assert failed is not None
        assert failed["errorType"] == "EngineUnavailable"


def test_a_function_restored_from_a_snapshot_answers(deployed: Layout) -> None:
    with LambdaProcess(deployed, {"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}) as process:
        process.reach_snapshot()
        assert not process.api.ready.is_set()
        process.restore()
        assert (
            masks(process.invoke(sample_event("direct")).payload)[0][0]["candidates"][0]["token"]
            == "上"
        )


@pytest.mark.parametrize("kind", ["provisioned-concurrency", "snap-start"])
def test_where_time_is_free_everything_is_loaded_before_the_first_event(
    probed: Layout, kind: str
) -> None:
    environment = {
        "AWS_LAMBDA_INITIALIZATION_TYPE": kind,
        "FILLMASK_TABLE": "none",
        "AWS_REGION": "us-east-1",
    }
    with LambdaProcess(probed, environment, handler="lambda_probe.handler") as process:
        if kind == "snap-start":
            process.reach_snapshot()
            process.restore()
        loaded = process.invoke({"probe": "modules"}).payload
        assert {"fastapi", "mangum", "fillmask.http.app", "botocore", "tokenizers"} <= set(loaded)
        assert process.invoke(sample_event("http_api_v2")).payload["statusCode"] == 200


def test_a_snapshot_holds_no_connection_and_its_copies_roll_their_own_dice(
    deployed: Layout,
) -> None:
    script = (
        "import random, sys; sys.path[:0] = sys.argv[1:]\n"
        "import handler, snapshot_restore_py as hooks\n"
        "table = handler.SERVICE.table; assert table._table is not None\n"
        "for hook, args, kwargs in hooks.get_before_snapshot(): hook(*args, **kwargs)\n"
        "assert table._table is None\n"
        "random.seed(1); same = random.random(); random.seed(1)\n"
        "for hook, args, kwargs in hooks.get_after_restore(): hook(*args, **kwargs)\n"
        "assert random.random() != same"
    )
    environment = {
        "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start",
        "FILLMASK_TABLE": "none",
        "PATH": os.environ["PATH"],
        "AWS_DEFAULT_REGION": "us-east-1",
        "FILLMASK_MODEL_DIR": str(deployed.opt / "model"),
    }
    folders = [str(deployed.task), str(deployed.opt / "python"), str(deployed.runtime)]
    subprocess.run(
        [str(deployed.interpreter.path), "-I", "-S", "-c", script, *folders],
        env=environment,
        check=True,
        timeout=60,
    )
