"""SAM's own check of the template, by a pinned CLI in a virtual environment of its own.

Of its own, because the CLI pins dozens of packages that the project uses in other versions. Nothing is
contacted but the package index at the first call: the linter carries its schemas.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
VERSION: Final = "1.170.0"
VENV: Final = ROOT / ".build" / "sam-venv"


def install() -> Path:
    """The `sam` command, installed when it is not there yet."""
    mark = VENV / "version"
    if not mark.is_file() or mark.read_text("utf-8") != VERSION:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
        pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "-qq"]
        subprocess.run([*pip, f"aws-sam-cli=={VERSION}"], check=True)
        mark.write_text(VERSION, "utf-8")
    return VENV / "bin" / "sam"


def validate(template: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """`sam validate --lint`; the CLI keeps its own files under `home`."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "AWS_DEFAULT_REGION": "eu-central-1",
        "SAM_CLI_TELEMETRY": "0",
    }
    command = [str(install()), "validate", "--lint", "--template", str(template)]
    return subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    print(install())
