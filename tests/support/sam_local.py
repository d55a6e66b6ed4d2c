"""`sam local` on the project's own template and layers, beside an engine that has no network."""

import json
import shutil
import time
from collections.abc import Sequence
from http.client import HTTPConnection
from typing import Any, Final, NamedTuple

from builder.layers import commands
from builder.layers.__main__ import main as assemble
from builder.layers.assemble import Platform
from support import lambda_image, lambda_opt, sam_cli
from support.container_engine import Engine
from support.paths import BUILD, MODEL, ROOT

PLATFORM: Final = Platform(lambda_opt.ARCH, lambda_image.PYTHON, None)
PORTS: Final = {"start-lambda": 3001, "start-api": 3000}  # SAM's own; nobody else is in its network
ENVIRONMENT: Final = {
    "SAM_CLI_TELEMETRY": "0",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
}
TIMEOUT: Final = 300.0  # seconds: SAM builds an image of the layers before the first answer


class Reply(NamedTuple):
    """An HTTP answer."""

    status: int
    headers: dict[str, str]  # names in small letters
    body: bytes

    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)


class SamLocal:
    """A copy of what SAM reads, and the CLI run there beside an engine."""

    def __init__(self, engine: Engine) -> None:
        """Assemble the layers and give the engine its base image."""
        self.engine = engine
        self.folder = BUILD / "sam-local"
        options = ["--python", PLATFORM.python, "--arch", PLATFORM.arch]
        built = ["--model", str(MODEL), "--out", str(self.folder / ".build")]
        assert assemble([*options, *built]) == 0
        for name in ("template.yaml", commands.NOTHING_AT_AWS, commands.EVENT):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)
        lambda_image.put_into(engine)

    def invoke(self) -> Any:
        """The answer to the command that `./build.sh layer` prints."""
        sam, *words = commands.invoke(PLATFORM)
        assert sam == "sam"
        done = self.engine.run(self._sam(words), environment=ENVIRONMENT, cwd=self.folder)
        return json.loads(done.stdout)

    def start(self, kind: str) -> None:
        """Start one of SAM's servers; it ends with the engine."""
        log = self.engine.folder / f"{kind}.log"
        parameters = [f"Architecture={PLATFORM.arch}", f"PythonVersion={PLATFORM.python}"]
        words = ["local", kind, "-n", commands.NOTHING_AT_AWS, "--warm-containers", "LAZY"]
        command = self._sam([*words, "--parameter-overrides", *parameters])
        self.engine.start(command, log, ENVIRONMENT, self.folder)
        end = time.monotonic() + TIMEOUT
        while not self._listens(kind):
            assert time.monotonic() < end, log.read_text("utf-8", "replace")
            time.sleep(0.2)

    def ask(
        self, kind: str, method: str, path: str, body: bytes = b"", content_type: str | None = None
    ) -> Reply:
        """One request to a server of SAM's."""
        with self.engine.network():
            connection = HTTPConnection("127.0.0.1", PORTS[kind], timeout=TIMEOUT)
            connection.connect()
        headers = {"content-type": content_type} if content_type else {}
        connection.request(method, path, body or None, headers)
        answer = connection.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        reply = Reply(answer.status, names, answer.read())
        connection.close()
        return reply

    def _listens(self, kind: str) -> bool:
        with self.engine.network():
            connection = HTTPConnection("127.0.0.1", PORTS[kind])
            try:
                connection.connect()
            except ConnectionRefusedError:
                return False
        connection.close()
        return True

    def _sam(self, words: Sequence[str]) -> list[str]:
        """The CLI, kept from asking AWS's registry for a newer image."""
        return [str(sam_cli.install()), "-m", "samcli", *words, "--skip-pull-image"]
