"""`run` and `serve` of the command line: what they print, how they end, and what they import."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import NoReturn

import pytest

import handler
from builder.local.__main__ import main
from builder.local.serve import listening_socket
from fillmask.direct import DirectAdapter
from fillmask.errors import EngineUnavailable, UnreportableError
from support.paths import EVENTS, MODEL, PYTHONPATH

TEXT = "今天天气很[MASK]。"
COMMAND = (sys.executable, "-m", "builder.local")
ENVIRONMENT = os.environ | {"PYTHONPATH": PYTHONPATH, "FILLMASK_MODEL_DIR": str(MODEL)}


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of an error; nothing on standard output."""
    assert main(list(arguments)) == 1
    said = capsys.readouterr()
    assert not said.out
    assert re.fullmatch(r"error: [^\n]+\n", said.err)
    return said.err


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What argparse says of wrong options."""
    with pytest.raises(SystemExit, match="2"):
        main(list(arguments))
    return capsys.readouterr().err


def test_a_text_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", TEXT, "--json", "--top-k", "2"]) == 0
    assert len(json.loads(capsys.readouterr().out)["results"][0]["masks"][0]["candidates"]) == 2
    assert main(["run", TEXT]) == 0
    assert capsys.readouterr().out.startswith(TEXT)


def test_an_event_that_is_no_file_of_json_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "nowhere.json: No such file" in fails(
        capsys, "run", "--event", str(tmp_path / "nowhere.json")
    )
    assert "Is a directory" in fails(capsys, "run", "--event", str(tmp_path))
    for content in (b"{", b"\xff\xfe\xff", b"[" * 100_000):
        (tmp_path / "event.json").write_bytes(content)
        assert "event.json is not JSON" in fails(
            capsys, "run", "--event", str(tmp_path / "event.json")
        )


def test_an_event_of_another_service_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Expected an API Gateway" in fails(capsys, "run", "--event", str(EVENTS / "s3.json"))


@pytest.mark.parametrize(
    "error", [EngineUnavailable("no model"), UnreportableError("no id"), OSError("no disk")]
)
def test_what_the_handler_raises_is_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    def broken(_event: object, _context: object) -> None:
        raise error

    monkeypatch.setattr(handler, "handler", broken)
    assert fails(capsys, "run", TEXT) == f"error: {error}\n"


def test_json_is_printed_of_an_error_too(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["run", "没有", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["code"] == "no_mask"
    monkeypatch.setattr(handler, "ADAPTERS", [DirectAdapter(_unavailable)])
    assert main(["run", TEXT, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["code"] == "engine_unavailable"


def _unavailable() -> NoReturn:
    raise EngineUnavailable("no model")


@pytest.mark.parametrize("targets", ["了,着,过", "了，着，过", "了、着 过", " 了/着|过, "])
def test_targets_are_separated_as_on_the_page(
    capsys: pytest.CaptureFixture[str], targets: str
) -> None:
    assert main(["run", TEXT, "--json", "--targets", targets]) == 0
    (mask,) = json.loads(capsys.readouterr().out)["results"][0]["masks"]
    assert [row["token"] for row in mask["candidates"]] == ["了", "着", "过"]


def test_whole_fillings_have_a_heading(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "今天[MASK][MASK]很好。", "--joint", "--top-k", "2"]) == 0
    *_, fillings = capsys.readouterr().out.split("\n\n")
    heading, *rows = fillings.splitlines()
    assert heading == "whole fillings, by joint score"
    assert len(rows) == 2


def test_a_queue_event_shows_the_answers_and_the_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--event", str(EVENTS / "sqs_mixed.json")]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {"result", "error"} <= {name for answer in shown["results"] for name in answer}
    assert isinstance(shown["batchItemFailures"], list)


def test_empty_targets_are_not_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", TEXT, "--targets", ""]) == 0
    assert "not scored: empty" in capsys.readouterr().out


def test_wrong_options_show_the_tasks_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "run", TEXT, "--nope").startswith("usage: build.sh run ")
    assert refused(capsys, "run").startswith("usage: build.sh run ")
    assert refused(capsys, "serve", "--nope").startswith("usage: build.sh serve ")
    for port in ("99999", "-1", "x"):
        assert "port" in refused(capsys, "serve", f"--port={port}")


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("FILLMASK_THREADS", "x", "FILLMASK_THREADS must be a whole number"),
        ("FILLMASK_MODEL_DIR", "/nope", "The model could not be loaded"),
    ],
)
def test_a_wrong_environment_is_one_line(variable: str, value: str, said: str) -> None:
    done = subprocess.run(
        [*COMMAND, "run", TEXT],
        env=ENVIRONMENT | {variable: value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"error: {said}" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_needs_no_installed_package_and_run_no_web_framework() -> None:
    bare = subprocess.run(
        [sys.executable, "-S", "-m", "builder.local", "serve", "--help"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "(default: 127.0.0.1)" in bare.stdout
    code = (
        f"import sys; from builder.local.__main__ import main; main(['run', {TEXT!r}]);"
        "print(sorted({'fastapi', 'uvicorn', 'boto3'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("\n[]\n")


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "in use" in fails(capsys, "serve", "--port", str(taken.getsockname()[1]))


def test_what_listens_lets_answers_go_at_once() -> None:
    with listening_socket(socket.AF_INET, "127.0.0.1", 0) as listening:
        assert (
            listening.proto == socket.IPPROTO_TCP
        )  # asyncio asks just this before it sets TCP_NODELAY


def test_serve_answers_until_it_is_interrupted() -> None:
    with subprocess.Popen(
        [*COMMAND, "serve", "--port", "0"],
        env=ENVIRONMENT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        try:
            assert server.stdout
            found = re.match(r"serving (http://127\.0\.0\.1:\d+/)", server.stdout.readline())
            assert found
            with urllib.request.urlopen(f"{found[1]}health", timeout=20) as answer:
                assert answer.status == 200
        finally:
            server.send_signal(signal.SIGINT)
            _, said = server.communicate(timeout=20)
    assert (server.returncode, said) == (0, "")


def test_a_reader_that_stops_ends_run_quietly() -> None:
    command = f"{shlex.quote(sys.executable)} -m builder.local run '{TEXT}' --json --top-k 100"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | true"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode in (0, 128 + signal.SIGPIPE)
