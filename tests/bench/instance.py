"""One instance of a contestant's function under the real runtime client, from process start to an answer."""

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
PIN = {
    1: ("taskset", "-c", "0")
}  # command that keeps a process on so many CPUs; the bench itself is left free


class Start(NamedTuple):
    """A cold start: seconds until the first answer was posted; of CPU; peak and resident bytes; bytes from disk."""

    seconds: float
    cpu: float
    peak: int
    resident: int
    read: int
    later: list[float]  # seconds of each event after the first


def start(
    who: Contestant,
    event: Any,
    *,
    wrapper: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    then: Iterable[Any] = (),
) -> Start:
    """Start a fresh process with `event` waiting for it, then send the events `then`, one after the other.

    As on Lambda the process is frozen between events: what it does in the background, it does during events."""
    with LambdaProcess(
        who.where, {**who.environment, **(environment or {})}, wrapper=wrapper
    ) as process:
        try:
            check(
                process.api.invoke(event, TIMEOUT).payload
            )  # before it is ready: no polling in the time
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
    """Stop a process that has answered, for a moment."""
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
    spent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(spent[11]) + int(
        spent[12]
    )  # utime and stime: fields 14 and 15, counted from after the name
    return ticks / os.sysconf("SC_CLK_TCK"), memory["VmHWM"] * 1024, memory["VmRSS"] * 1024, read


def _numbers(path: Path) -> dict[str, int]:
    words = (line.replace(":", " ").split() for line in path.read_text().splitlines())
    return {parts[0]: int(parts[1]) for parts in words if len(parts) > 1 and parts[1].isdecimal()}


def forget(where: Layout) -> None:
    """Drop a function's files and the interpreter's from the page cache, as on a machine that never ran it.

    Pages that a running process has mapped stay: those of the interpreter this benchmark itself runs on."""
    library = Path(os.__file__).parent
    for folder in (where.task, where.opt, where.runtime, library):
        for path in folder.rglob("*"):
            if path.is_file() and "site-packages" not in path.parts:
                drop(path)


def drop(path: Path) -> None:
    """Drop one file's clean pages."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fdatasync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
