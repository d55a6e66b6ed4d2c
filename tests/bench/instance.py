"""One instance of a contestant's function under the real runtime client, from process start to an
answer.
"""

import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from support.lambda_opt import LambdaProcess, Layout

from .contestants import Contestant
from .events import check

TIMEOUT = 300.0
# The command that keeps a process on so many CPUs; the benchmark itself may use all.
PIN = {1: ("taskset", "-c", "0")}


class Start(NamedTuple):
    """A cold start, measured until the first answer was posted."""

    seconds: float
    cpu: float  # seconds of CPU
    peak: int  # bytes of memory
    resident: int  # bytes of memory
    read: int  # bytes from disk
    later: list[float]  # seconds of each event after the first


def start(
    who: Contestant,
    event: Any,
    *,
    wrapper: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    then: Iterable[Any] = (),
) -> Start:
    """Starts a fresh process with `event` waiting for it, then sends the events `then` in turn.

    As on Lambda the process is frozen between events: what it does in the background, it does
    during events. RuntimeError when an answer is missing or none.
    """
    with LambdaProcess(
        who.where, {**who.environment, **(environment or {})}, wrapper=wrapper
    ) as process:
        try:
            # Sent before the process is ready: the time holds no polling.
            check(process.api.invoke(event, TIMEOUT).payload)
            seconds = time.monotonic() - process.started
            figures = usage(process.process.pid)

            later = []
            for one in then:
                _freeze(process.process.pid)
                answer = process.api.invoke(one, TIMEOUT)
                check(answer.payload)
                later.append(answer.seconds)
        except (TimeoutError, RuntimeError) as error:
            raise RuntimeError(
                f"{who.name} gave no answer: {error} {process.log[-2000:]}"
            ) from error

        return Start(seconds, *figures, later)


def _freeze(pid: int) -> None:
    """Stops a process that has answered, for a moment."""
    time.sleep(0.002)  # it asks for its next event
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.01)
    os.kill(pid, signal.SIGCONT)


def usage(pid: int) -> tuple[float, int, int, int]:
    """CPU seconds, peak and current resident bytes, bytes read from disk, of a running process."""
    memory = _numbers(Path(f"/proc/{pid}/status"))
    try:
        read = _numbers(Path(f"/proc/{pid}/io"))["read_bytes"]
    except PermissionError:
        read = 0

    # utime and stime are fields 14 and 15; two are cut off with the name, and counting starts at 1.
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(after_name[11]) + int(after_name[12])
    return ticks / os.sysconf("SC_CLK_TCK"), memory["VmHWM"] * 1024, memory["VmRSS"] * 1024, read


def _numbers(path: Path) -> dict[str, int]:
    words = (line.replace(":", " ").split() for line in path.read_text().splitlines())
    return {parts[0]: int(parts[1]) for parts in words if len(parts) > 1 and parts[1].isdecimal()}


def forget(where: Layout) -> None:
    """Drops a function's files and the interpreter's from the page cache, as if never run here.

    Pages that a running process has mapped stay: those of the benchmark's own interpreter.
    """
    library = Path(os.__file__).parent
    for folder in (where.task, where.opt, where.runtime, library):
        for path in folder.rglob("*"):
            if path.is_file() and "site-packages" not in path.parts:
                drop(path)


def drop(path: Path) -> None:
    """Drops one file's clean pages."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fdatasync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
