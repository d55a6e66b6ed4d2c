"""A stand-in for AWS's base image of Lambda's Python: Debian's, under the real runtime client.

It has what SAM and a Dockerfile for Lambda rely on: the image's name, its entry point, /var/runtime
with the client and boto3, /var/task and /opt/python first on the search path. Not Amazon Linux.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Final

from builder.layers import bytecode
from builder.layers.assemble import Platform
from builder.layers.parts import bring_up_to_date
from support import debian, lambda_opt, sam_cli
from support.container_engine import Engine
from support.paths import BUILD

PYTHON: Final = "3.13"  # the one that the Debian release has
NAME: Final = f"public.ecr.aws/lambda/python:{PYTHON}"
SHELL: Final = ("dash", "coreutils")  # for a Dockerfile's RUN
FILES: Final = (f"python{PYTHON}-minimal", f"libpython{PYTHON}-stdlib", "libstdc++6", *SHELL)

BOOTSTRAP: Final = f"""#!/bin/sh
export AWS_EXECUTION_ENV=AWS_Lambda_python{PYTHON}
exec /var/lang/bin/python{PYTHON} -S /var/runtime/lambda_bootstrap.py \\
  /var/task /opt /var/runtime "$_HANDLER"
"""
# As in AWS's images: the command is the handler; outside of Lambda an emulator takes the events.
ENTRY: Final = """#!/bin/sh
export _HANDLER="$1"
if [ -n "$AWS_LAMBDA_RUNTIME_API" ]; then exec /var/runtime/bootstrap; fi
exec /usr/local/bin/aws-lambda-rie /var/runtime/bootstrap
"""
DOCKERFILE: Final = """
FROM debian-python
COPY . /
ENV PATH=/var/lang/bin:/usr/local/bin:/usr/bin:/bin:/opt/bin
ENV LD_LIBRARY_PATH=/var/runtime:/var/task:/opt/lib
ENV LAMBDA_TASK_ROOT=/var/task
ENV LAMBDA_RUNTIME_DIR=/var/runtime
ENV LANG=C.UTF-8
WORKDIR /var/task
ENTRYPOINT ["/lambda-entrypoint.sh"]
"""


def put_into(engine: Engine) -> None:
    """Give `engine` the image under the names that a Dockerfile and SAM know it by."""
    with subprocess.Popen(
        ["tar", "-c", "-C", str(debian.unpack(FILES)), "."], stdout=subprocess.PIPE
    ) as archive:
        assert archive.stdout is not None
        engine.run(["docker", "import", "-", "debian-python"], stdin=archive.stdout.fileno())
    assert archive.returncode == 0

    dockerfile, added = engine.folder / "Dockerfile", engine.folder / "image"
    dockerfile.write_text(DOCKERFILE, "utf-8")
    _write_lambdas_own(added)
    names = ["-t", NAME, "-t", f"{NAME}-{lambda_opt.ARCH}"]
    engine.run(["docker", "build", "-q", *names, "-f", str(dockerfile), str(added)])
    shutil.rmtree(added)


def _write_lambdas_own(folder: Path) -> None:
    """What the image has beside Debian's files."""
    platform = Platform(lambda_opt.ARCH, PYTHON, bytecode.find(PYTHON, None))
    out = BUILD / "lambda" / PYTHON
    packages = bring_up_to_date([lambda_opt.provided(platform)], out, lambda _: None)["provided"]
    runtime = folder / "var" / "runtime"
    shutil.copytree(packages, runtime)
    shutil.copy(lambda_opt.BOOTSTRAP, runtime)

    for name in ("var/task", "var/rapid", "var/lang/bin", "opt", "usr/local/bin"):
        (folder / name).mkdir(parents=True)
    for name in ("python3", f"python{PYTHON}"):
        (folder / "var" / "lang" / "bin" / name).symlink_to(f"/usr/bin/python{PYTHON}")
    shutil.copy(_emulator(), folder / "usr" / "local" / "bin" / "aws-lambda-rie")
    scripts = {runtime / "bootstrap": BOOTSTRAP, folder / "lambda-entrypoint.sh": ENTRY}
    for script, text in scripts.items():
        script.write_text(text, "utf-8")
        script.chmod(0o755)


def _emulator() -> Path:
    """AWS's runtime interface emulator, which SAM's package brings along."""
    environment = sam_cli.install().parents[1]
    name = f"aws-lambda-rie-{lambda_opt.ARCH}"
    return next(environment.glob(f"lib/python*/site-packages/samcli/local/rapid/{name}"))
