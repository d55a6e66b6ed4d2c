"""The container image, built and run: as Lambda runs it, and as an HTTP server elsewhere."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import handler
from builder.image.__main__ import main
from builder.image.context import PLATFORMS, build_command
from builder.layers import sizes
from builder.layers.wheels import MACHINES, LayerError
from builder.local.run import Context
from support import lambda_image, lambda_opt
from support.container_engine import Engine
from support.paths import BUILD, MODEL
from support.samples import sample_event

LAMBDA_PORT, SERVER_PORT = 9000, 8000
INVOCATIONS = "/2015-03-31/functions/function/invocations"
container = pytest.mark.sam_local
OPTIONS = ["--python", lambda_image.PYTHON, "--arch", lambda_opt.ARCH, "--model", str(MODEL)]


def test_layers_that_are_too_big_are_told_of_the_image(tmp_path: Path) -> None:
    (tmp_path / "model.onnx.data").write_bytes(b"12")
    with pytest.raises(LayerError, match=r"A container image may have 10 GB: \./build\.sh image\."):
        sizes.check({"model": tmp_path}, 1)


def test_what_docker_calls_an_architecture_is_known_for_each() -> None:
    assert PLATFORMS.keys() == MACHINES.keys()


@pytest.fixture(scope="module")
def image(engine: Engine) -> Engine:
    """The engine with the image, built by the command that the task prints."""
    out = BUILD / "image-test"
    assert main([*OPTIONS, "--out", str(out)]) == 0
    engine.run(build_command(lambda_opt.ARCH, out))
    return engine


def run(engine: Engine, *options: str) -> str:
    """The id of a new container."""
    return engine.run(["docker", "run", "-d", *options]).stdout.strip()


@pytest.fixture(scope="module")
def on_lambda(image: Engine) -> Engine:
    run(image, "-p", f"{LAMBDA_PORT}:8080", "fillmask")
    return image


@pytest.fixture(scope="module")
def server(image: Engine) -> Iterator[Engine]:
    """The image as a server, which ends well when it is told to."""
    ports = ["-p", f"{SERVER_PORT}:8080"]
    started = run(image, *ports, "--entrypoint", "python3", "fillmask", "/opt/server")
    yield image
    image.run(["docker", "stop", started])
    state = image.run(["docker", "inspect", "-f", "{{.State.ExitCode}}", started])
    assert state.stdout.strip() == "0"


def invoke(engine: Engine, name: str) -> Any:
    reply = engine.ask(LAMBDA_PORT, "POST", INVOCATIONS, json.dumps(sample_event(name)).encode())
    return reply.json()


def masks(answer: Any) -> Any:
    return [result["masks"] for result in answer["results"]]


@container
@pytest.mark.slow
def test_lambda_gets_the_handlers_answers(on_lambda: Engine) -> None:
    expected = masks(json.loads(json.dumps(handler.handler(sample_event("direct"), Context()))))
    assert masks(invoke(on_lambda, "direct")) == expected
    through = invoke(on_lambda, "http_api_v2")
    assert (through["statusCode"], masks(json.loads(through["body"]))) == (200, expected)
    assert invoke(on_lambda, "sqs") == {"batchItemFailures": []}
    assert invoke(on_lambda, "s3")["errorType"] == "UnknownEvent"


@container
@pytest.mark.slow
def test_other_hosts_get_an_http_server(server: Engine) -> None:
    assert server.ask(SERVER_PORT, "GET", "/health").json() == {"ok": True}
    request = json.dumps(sample_event("direct")).encode()
    filled = server.ask(SERVER_PORT, "POST", "/v1/fill-mask", request, "application/json")
    assert masks(filled.json())[0][0]["candidates"][0]["token"] == "上"
    refused = server.ask(SERVER_PORT, "POST", "/v1/fill-mask", b"{}", "application/json")
    assert (refused.status, refused.json()["code"]) == (422, "invalid_request")
    assert server.ask(SERVER_PORT, "GET", "/").status == 200
