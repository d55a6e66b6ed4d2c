"""A checkpoint from a Hub id: the real client against a stub of the Hub's HTTP.

Builds run in processes of their own, because the client reads HF_ENDPOINT when it is imported.
"""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support import checkpoints
from support.checkpoint_forms import torch_zip
from support.paths import PYTHONPATH

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "someone/small-bert"


class Hub:
    """Serves one folder as the repository NAME at COMMIT."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, list[str]()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Quiet."""

            def do_HEAD(self) -> None:
                hub.answer(self, body=False)

            def do_GET(self) -> None:
                hub.answer(self, body=True)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler, *, body: bool) -> None:
        """The API's description of the repository, or one of its files, or 404."""
        path = request.path.partition("?")[0]
        self.asked.append(path)
        content, headers = None, {}
        if path in (
            f"/api/models/{NAME}",
            f"/api/models/{NAME}/revision/{COMMIT}",
            f"/api/models/{NAME}/revision/v1",
        ):
            files = [{"rfilename": file.name} for file in sorted(self.folder.iterdir())]
            content = json.dumps({"id": NAME, "sha": COMMIT, "siblings": files}).encode()
            headers = {"content-type": "application/json"}
        elif path == f"/api/models/{NAME}/tree/{COMMIT}":
            entries = [
                {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": COMMIT}
                for file in sorted(self.folder.iterdir())
            ]
            content, headers = json.dumps(entries).encode(), {"content-type": "application/json"}
        elif path.startswith(f"/{NAME}/resolve/{COMMIT}/"):
            file = self.folder / path.rpartition("/")[2]
            content = file.read_bytes() if file.exists() else None
            headers = {
                "x-repo-commit": COMMIT,
                "etag": f'"{hashlib.sha256(content or b"").hexdigest()}"',
            }
        request.send_response(200 if content is not None else 404)
        if content is None:
            headers = {"x-error-code": "EntryNotFound" if "/resolve/" in path else "RepoNotFound"}
        for name, value in (headers | {"content-length": str(len(content or b""))}).items():
            request.send_header(name, value)
        request.end_headers()
        if body and content:
            request.wfile.write(content)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    source = checkpoints.write(
        tmp_path / "source", hidden=32, layers=1, heads=2, ffn=32, positions=32, size=150
    )
    (source / "training.log").write_text("not part of a checkpoint")
    (source / "pytorch_model.bin").write_bytes(b"a second copy of the weights")
    hub = Hub(source)
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


def build(
    hub: Hub, tmp_path: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    known = {
        "PYTHONPATH": PYTHONPATH,
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(tmp_path / "hf"),
        "NO_PROXY": "127.0.0.1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_XET": "1",
    }
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "builder.model",
            *arguments,
            "--out",
            str(tmp_path / "out"),
            "--force",
        ],
        env=os.environ | known | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("revision", [(), ("--revision", "v1")])
def test_a_hub_id_is_built_at_a_pinned_commit(
    hub: Hub, tmp_path: Path, revision: tuple[str, ...]
) -> None:
    done = build(hub, tmp_path, NAME, *revision)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "out" / "model.json").read_text())
    assert (made["id"], made["revision"]) == (NAME, COMMIT)
    fetched = {path.rpartition("/")[2] for path in hub.asked if "/resolve/" in path}
    assert "model.safetensors" in fetched
    assert not fetched & {"training.log", "pytorch_model.bin"}


def test_weights_are_chosen_among_those_that_would_be_fetched(hub: Hub, tmp_path: Path) -> None:
    (hub.folder / "pytorch_model.bin").unlink()
    torch_zip(hub.folder)
    (hub.folder / "adapter.safetensors").write_bytes(b"not the weights of the model")
    done = build(hub, tmp_path, NAME)
    assert done.returncode == 0, done.stderr
    fetched = {path.rpartition("/")[2] for path in hub.asked if "/resolve/" in path}
    assert "pytorch_model.bin" in fetched
    assert "adapter.safetensors" not in fetched


@pytest.mark.parametrize(
    ("name", "environment", "says"),
    [
        ("someone/else", {}, "someone/else is not a folder, and the Hub has no such repository"),
        (NAME, {"HF_HUB_OFFLINE": "1"}, f"{NAME} is not a folder, and HF_HUB_OFFLINE keeps"),
        (
            NAME,
            {"HF_ENDPOINT": "http://127.0.0.1:9"},
            f"{NAME} is not a folder, and the Hub could not be reached.",
        ),
        (
            "no such folder/at all/here",
            {},
            "no such folder/at all/here is neither a folder nor a Hub id.",
        ),
        ("./missing", {}, "./missing is neither a folder nor a Hub id."),
        ("", {}, "An empty name is neither a folder nor a Hub id."),
        ("handler.py", {}, "handler.py is a file, not a folder."),
    ],
)
def test_what_the_hub_does_not_give_is_one_sentence(
    hub: Hub,
    tmp_path: Path,
    name: str,
    environment: dict[str, str],
    says: str,
) -> None:
    done = build(hub, tmp_path, name, **environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"error: {says}")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
