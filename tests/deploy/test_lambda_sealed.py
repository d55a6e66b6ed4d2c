"""The function contacts nobody and writes nothing, and works where only loopback is there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from builder.layers import assemble as layers
from support import lambda_opt, system_calls
from support.http_events_made import KINDS
from support.lambda_cases import WARM_UP, deployed, get
from support.lambda_opt import LambdaProcess, Layout
from support.paths import TESTS
from support.samples import sample_event

__all__ = ["deployed"]


@pytest.fixture
def strace() -> tuple[str, ...]:
    if shutil.which("strace") is None:
        if os.environ.get("CI"):
            pytest.fail("CI must have strace")
        pytest.skip("no strace on this machine")
    return system_calls.STRACE


def test_nobody_is_contacted_and_nothing_is_written(
    deployed: Layout, strace: tuple[str, ...], tmp_path: Path
) -> None:
    """Also where ORT_DISABLE_TELEMETRY is not set: handler.py sets it before the import."""
    trace = tmp_path / "trace.txt"
    environment = {"ORT_DISABLE_TELEMETRY": None, "HOME": str(tmp_path)}
    with LambdaProcess(deployed, environment, wrapper=(*strace, str(trace))) as process:
        for name in (*KINDS, *WARM_UP, "direct", "sqs", "s3"):
            process.invoke(sample_event(name))
        assert process.invoke(get("/info")).payload["statusCode"] == 200
        runtime_api = ("127.0.0.1", process.api.port)
    assert system_calls.contacts(trace) == {runtime_api}
    assert system_calls.writes(trace) == set()


def test_what_the_watch_for_contacts_and_files_would_see(
    strace: tuple[str, ...], tmp_path: Path
) -> None:
    """The test above can fail: onnxruntime's telemetry begins with a database below HOME."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import socket; socket.socket().connect_ex(('127.0.0.1', 9))\n"
        "import onnxruntime; onnxruntime.InferenceSession(sys.argv[2])\n"
    )
    trace = tmp_path / "trace.txt"
    function = lambda_opt.layout()
    command = [
        *strace,
        str(trace),
        sys.executable,
        "-I",
        "-S",
        "-c",
        script,
        str(function.opt / "python"),
        str(function.opt / "model" / "model.onnx"),
    ]
    variables = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    offline(command, variables)
    assert system_calls.contacts(trace) == {("127.0.0.1", 9)}
    assert any(path.endswith("/onnxruntime.db") for path in system_calls.writes(trace))


@pytest.mark.slow
def test_all_of_it_works_with_every_network_but_loopback_refused() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        str(Path(__file__).with_name("test_lambda_runtime.py")),
        "-k",
        "answers",
        "-v",
    ]
    done = offline(command, dict(os.environ))
    assert re.search(r"\d+ passed", done.stdout), done.stdout


def offline(command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run `command` in a network namespace that has loopback and nothing else."""
    isolated = ["unshare", "--map-root-user", "--net"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*isolated, "true"], check=False).returncode
    ):
        pytest.skip("this machine lets nobody make a network namespace")
    bring_up = [sys.executable, str(TESTS / "support" / "loopback_only.py")]
    done = subprocess.run(
        [*isolated, *bring_up, *command],
        env=variables,
        cwd=layers.ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done
