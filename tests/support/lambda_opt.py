"""The function as Lambda runs it: layers merged as /opt, the real runtime client, nothing else.

`layout()` builds the layers and lays them out; `LambdaProcess` is one running instance of the
function. Not under test here: Lambda's own machinery, Amazon Linux.
"""

import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from builder.layers import assemble as layers
from builder.layers import bytecode, wheels
from builder.layers.parts import Part, bring_up_to_date, digest
from fillmask.settings import ROWS
from support.runtime_api import ARN, Answer, RuntimeApi

BOOTSTRAP: Final = Path(__file__).with_name("lambda_bootstrap.py")
LOCAL: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
ARCH: Final = {"x86_64": "x86_64", "aarch64": "arm64"}[platform.machine()]
EMBEDDED: Final = layers.ROOT / "layer" / "model"
CLIENT: Final = ("awslambdaric==4.2.2", "simplejson==4.3.0", "snapshot-restore-py==1.0.0")


class Layout(NamedTuple):
    """One function as it lies in Lambda: /var/task, /opt, /var/runtime, and the interpreter."""

    task: Path
    opt: Path
    runtime: Path
    interpreter: bytecode.Interpreter


def layout(
    python: str = LOCAL,
    model: Path = EMBEDDED,
    out: Path | None = None,
    *,
    arch: str = ARCH,
    interpreter: bytecode.Interpreter | None = None,
) -> Layout:
    """The function laid out for `python`; LookupError without such a Python here.

    An `interpreter` of another `arch` may be given: it runs the function and writes no bytecode.
    All of it lies in `out` and is made anew only when something changed.
    """
    at_hand = bytecode.find(python, None)
    runs = interpreter or at_hand
    if runs is None:
        raise LookupError(f"no Python {python} on this machine")

    folder = python if arch == ARCH else f"{python}-{arch}"
    out = out or layers.ROOT / ".build" / "lambda" / folder
    target = layers.Platform(arch, python, at_hand)
    parts = [*layers.parts(layers.ROOT, model, target), provided(target)]
    places = bring_up_to_date(parts, out, lambda _: None)

    lying = [places[name] for name in ("runtime", "model", "code")]
    inputs = digest(*(part.inputs for part in parts))
    merged = bring_up_to_date(
        [Part("opt", "opt", inputs, partial(merge, lying))], out, lambda _: None
    )
    return Layout(places["function"], merged["opt"], places["provided"], runs)


def merge(lying: Sequence[Path], folder: Path) -> None:
    """Lays the layers over each other in `folder`; FileExistsError when two hold the same file."""
    for layer in lying:
        for path in sorted(layer.rglob("*")):
            goal = folder / path.relative_to(layer)
            if path.is_dir():
                goal.mkdir(exist_ok=True)
            else:
                os.link(path, goal)


def provided(target: layers.Platform) -> Part:
    """What each Lambda Python has of its own: the runtime client, and boto3 with what it needs."""
    lines = (layers.ROOT / "requirements.txt").read_text("utf-8").splitlines()
    pins = sorted([*CLIENT, *(line for line in lines if line.split("==")[0] in wheels.PROVIDED)])

    def fill(folder: Path) -> None:
        wheels.fetch(pins, target.arch, target.python, folder)
        shutil.rmtree(folder / "bin", ignore_errors=True)
        if target.interpreter is not None:
            bytecode.compile_tree(target.interpreter, folder, "/var/runtime")

    return Part("provided", "provided", digest(str(target), *pins), fill)


class LambdaProcess:
    """One instance of the function, started at once; a context manager."""

    def __init__(
        self,
        where: Layout,
        environment: Mapping[str, str | None] | None = None,
        *,
        handler: str = "handler.handler",
        wrapper: Sequence[str] = (),
    ) -> None:
        """`environment` is added to a deployed function's; None as a value takes a variable away.
        `wrapper` is put before the command: strace, taskset, valgrind.
        """
        self.api = RuntimeApi()
        variables = {
            **deployed_environment(where, self.api.address, handler),
            **(environment or {}),
        }
        command = [
            *wrapper,
            where.interpreter.path,
            "-I",
            "-S",
            str(BOOTSTRAP),
            str(where.task),
            str(where.opt),
            str(where.runtime),
            handler,
        ]
        self.started = time.monotonic()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self.process = subprocess.Popen(
            command,
            cwd=where.task,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env={name: value for name, value in variables.items() if value is not None},
            start_new_session=True,
        )

    def ready(self, timeout: float = 60) -> float:
        """Waits for an init that succeeds, and returns the seconds it took since the start."""
        self._wait(self.api.ready.is_set, timeout)
        assert self.api.init_error is None, self.api.init_error
        return time.monotonic() - self.started

    def invoke(self, event: Any, timeout: float = 60) -> Answer:
        """Sends one event through the runtime client."""
        self.ready(timeout)
        return self.api.invoke(event, timeout)

    def reach_snapshot(self, timeout: float = 60) -> None:
        """SnapStart: waits until the function says that its snapshot may be taken."""
        self._wait(self.api.at_snapshot.is_set, timeout)
        assert self.api.init_error is None, self.api.init_error

    def restore(self) -> None:
        """SnapStart: goes on from the snapshot."""
        self.api.restored.set()

    @property
    def log(self) -> str:
        """Everything the function wrote so far."""
        if not self._log.closed:
            size = os.fstat(self._log.fileno()).st_size
            self._text = os.pread(self._log.fileno(), size, 0).decode("utf-8", "replace")
        return self._text

    def stop(self) -> None:
        """Ends the process, what it is wrapped in, and the server."""
        for way in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, way)  # the group: a SIGTERM does not end strace alone
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
                break

        self.api.restored.set()
        self.api.close()
        self._text = self.log
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _wait(self, done: Callable[[], bool], timeout: float) -> None:
        end = time.monotonic() + timeout
        while not done():
            code = self.process.poll()
            if code is not None and not done():
                raise AssertionError(f"the function ended with {code}: {self.log}")
            if time.monotonic() > end:
                raise AssertionError(f"the function was not ready within {timeout} s: {self.log}")
            time.sleep(0.002)


def deployed_environment(where: Layout, address: str, handler: str) -> dict[str, str]:
    """The environment of a deployed function without a table or a queue."""
    return {
        **{row.variable: row.default for row in ROWS},
        "FILLMASK_MODEL_DIR": str(where.opt / "model"),
        "ORT_DISABLE_TELEMETRY": "1",
        "AWS_LAMBDA_RUNTIME_API": address,
        "AWS_LAMBDA_FUNCTION_NAME": ARN.rpartition(":")[2],
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_FORMAT": "JSON",
        "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/fillmask-test",
        "AWS_LAMBDA_LOG_STREAM_NAME": "2026/01/01/[$LATEST]0123456789abcdef",
        "AWS_EXECUTION_ENV": f"AWS_Lambda_python{where.interpreter.release.rpartition('.')[0]}",
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "LAMBDA_TASK_ROOT": str(where.task),
        "LAMBDA_RUNTIME_DIR": str(where.runtime),
        "_HANDLER": handler,
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "PATH": os.environ["PATH"],
    }
