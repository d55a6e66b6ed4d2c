"""`sam local` on the project's own template and layers, beside an engine that has no network."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from builder.layers import commands
from builder.layers.__main__ import main as assemble
from builder.layers.assemble import Platform
from support import lambda_image, lambda_opt, sam_cli
from support.container_engine import Engine, Reply
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


def project() -> Path:
    """A folder with the template, what `./build.sh layer` makes, and what its commands name."""
    folder = BUILD / "sam-local"
    options = ["--python", PLATFORM.python, "--arch", PLATFORM.arch]
    assert assemble([*options, "--model", str(MODEL), "--out", str(folder / ".build")]) == 0
    for name in ("template.yaml", commands.NOTHING_AT_AWS, commands.EVENT):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


class SamLocal:
    """A copy of what SAM reads, and the CLI run there beside an engine."""

    def __init__(self, engine: Engine) -> None:
        """The engine has AWS's base image, or what stands in for it."""
        self.engine = engine
        self.folder = project()

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

    def ask(
        self, kind: str, method: str, path: str, body: bytes = b"", content_type: str | None = None
    ) -> Reply:
        """One request to a server of SAM's."""
        return self.engine.ask(PORTS[kind], method, path, body, content_type)

    def _sam(self, words: Sequence[str]) -> list[str]:
        """The CLI, kept from asking AWS's registry for a newer image."""
        return [str(sam_cli.install()), "-m", "samcli", *words, "--skip-pull-image"]
