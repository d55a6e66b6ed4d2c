"""SAM's own check of the template, by a pinned CLI in a virtual environment of its own.

Of its own, because the CLI pins dozens of packages that the project uses in other versions. Nothing
is contacted but the package index when it is installed: the linter carries its schemas.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from support.paths import BUILD, TESTS

REQUIREMENTS: Final = TESTS / "deploy" / "requirements.txt"
VENV: Final = BUILD / "sam-venv"


def install() -> Path:
    """The Python that has the pinned CLI as its module `samcli`, installed where it is missing."""
    version = REQUIREMENTS.read_text("utf-8").strip().removeprefix("aws-sam-cli==")
    if not list(VENV.glob(f"lib/python*/site-packages/aws_sam_cli-{version}.dist-info/RECORD")):
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        pip = [
            str(VENV / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "-qq",
        ]
        subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
    return VENV / "bin" / "python"


def validate(template: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Runs `sam validate --lint`; the CLI keeps its own files under `home`."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "AWS_DEFAULT_REGION": "eu-central-1",
        "SAM_CLI_TELEMETRY": "0",
    }
    command = [str(install()), "-m", "samcli", "validate", "--lint", "--template", str(template)]
    return subprocess.run(
        command, env=environment, cwd=home, capture_output=True, text=True, check=False
    )
