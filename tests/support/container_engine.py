"""A Docker engine of its own in private namespaces: it reaches loopback alone and outlives nothing.

`Engine` is a context manager. Its network is cut off from the machine's, its processes and mounts
end with it, and it ends with the test run, even with one that is killed.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from support.needs import unavailable
from support.paths import BUILD, ROOT, TESTS

NAMESPACES: Final = ("--net", "--mount", "--pid", "--uts", "--ipc")
# Images and containers lie in memory, 1 GB at most, and vanish with the namespaces. What is first
# in them has to wait for the orphans of others, which dockerd does not.
START: Final = """
mount -t tmpfs tmpfs /run &&
dockerd --data-root /run/data --exec-root /run/docker --pidfile /run/docker.pid --iptables=false \
  --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/$0" &
wait
"""
CGROUPS: Final = Path("/sys/fs/cgroup")
START_SECONDS: Final = 60.0
ANSWER_SECONDS: Final = 300.0  # SAM builds an image of the layers before its first answer
END_SECONDS: Final = 10.0
CLONE_NEWNET: Final = 0x40000000  # linux/sched.h


class Reply(NamedTuple):
    """An HTTP answer."""

    status: int
    headers: dict[str, str]  # names in small letters
    body: bytes

    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)


class Engine:
    """A running engine; everything it keeps lies in a folder of its own and goes with it."""

    def __init__(self) -> None:
        """Start it; ends the test where it cannot be had."""
        _check_machine()
        BUILD.mkdir(exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="engine-", dir=BUILD))
        self.log = self.folder / "log"
        self.started: list[subprocess.Popen[bytes]] = []
        unshare = ["unshare", *NAMESPACES, "--fork", "--kill-child", "--mount-proc"]
        loopback = [sys.executable, str(TESTS / "support" / "loopback_only.py")]
        start = ["sh", "-c", START, self.folder.name]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *unshare, *loopback, *start],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def ready(self) -> None:
        """Wait until it answers; ends the test when it does not start on this machine."""
        end = time.monotonic() + START_SECONDS
        while self.run(["docker", "version"], check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > end:
                log = self.log.read_text("utf-8", "replace").strip()
                unavailable(f"no container engine starts here: {log.rpartition(chr(10))[2]}")
            time.sleep(0.2)

    def run(
        self,
        command: Sequence[str],
        *,
        check: bool = True,
        stdin: int | None = None,
        environment: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
    ) -> subprocess.CompletedProcess[str]:
        """Run `command` beside the engine to its end; AssertionError with its log if it fails."""
        done = subprocess.run(
            self._beside(command, cwd),
            stdin=stdin,
            env=self._environment(environment),
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, f"{done.stdout}{done.stderr}"
        return done

    def start(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str], cwd: Path
    ) -> None:
        """Start `command` beside the engine; it ends with the engine."""
        with log.open("wb") as said:
            process = subprocess.Popen(
                self._beside(command, cwd),
                env=self._environment(environment),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
        self.started.append(process)

    def _beside(self, command: Sequence[str], cwd: Path) -> list[str]:
        own = f"/proc/{self.process.pid}/ns"
        spaces = [f"--net={own}/net", f"--mount={own}/mnt", f"--uts={own}/uts", f"--ipc={own}/ipc"]
        return ["nsenter", *spaces, f"--pid={own}/pid_for_children", f"--wd={cwd}", *command]

    def _environment(self, more: Mapping[str, str] | None) -> dict[str, str]:
        """Nothing of the shell's but PATH: SAM would hand variables on to the function."""
        own = str(self.folder)  # for the commands' own files, their locks among them
        given = {"PATH": os.environ["PATH"], "HOME": own, "TMPDIR": own, "DOCKER_BUILDKIT": "0"}
        return {**given, **(more or {})}

    def ask(
        self, port: int, method: str, path: str, body: bytes = b"", content_type: str | None = None
    ) -> Reply:
        """One request to a server in the engine's network, as soon as it takes requests."""
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                return self._ask(port, method, path, body, content_type)
            except ConnectionError:  # nothing listens yet, or the engine does for a container
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def _ask(
        self, port: int, method: str, path: str, body: bytes, content_type: str | None
    ) -> Reply:
        with closing(HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)) as connection:
            with self._network():
                connection.connect()
            headers = {"content-type": content_type} if content_type else {}
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, names, answer.read())

    @contextmanager
    def _network(self) -> Iterator[None]:
        """Within it, this thread's new sockets are in the engine's network."""
        with (
            Path("/proc/thread-self/ns/net").open() as ours,
            Path(f"/proc/{self.process.pid}/ns/net").open() as theirs,
        ):
            _enter(theirs.fileno())
            try:
                yield
            finally:
                _enter(ours.fileno())

    def close(self) -> None:
        """End it and all it has started, and remove its folder."""
        self.process.kill()
        for process in (self.process, *self.started):
            process.wait()
        shutil.rmtree(self.folder)
        self._remove_control_groups()

    def _remove_control_groups(self) -> None:
        """What is left of the containers, as soon as the last of their processes is gone."""
        end = time.monotonic() + END_SECONDS
        for top in [*CGROUPS.glob(self.folder.name), *CGROUPS.glob(f"*/{self.folder.name}")]:
            for group in sorted((path for path in top.rglob("") if path.is_dir()), reverse=True):
                while time.monotonic() < end:
                    with suppress(OSError):  # busy
                        group.rmdir()
                        break
                    time.sleep(0.05)

    def __enter__(self) -> Self:
        try:
            self.ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _check_machine() -> None:
    missing = [
        name
        for name in ("dockerd", "docker", "unshare", "nsenter", "setpriv")
        if not shutil.which(name)
    ]
    if missing:
        unavailable(f"{', '.join(missing)}, of the container engine, is not installed")
    if os.geteuid() != 0:
        unavailable("only root may run a container engine in namespaces of its own")


def _enter(descriptor: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)  # os.setns is younger than Python 3.11
    if library.setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
