"""The tests' container engine: it reaches nobody, and nothing of it stays."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.container_engine import Engine
from support.paths import PYTHONPATH, ROOT

pytestmark = [pytest.mark.sam_local, pytest.mark.slow]
TEST_RUN = """
import time
from support.container_engine import Engine
engine = Engine()
engine.ready()
print(engine.folder, flush=True)
time.sleep(60)
"""


def test_only_loopback_and_its_own_bridge_can_be_reached(engine: Engine) -> None:
    routes = engine.run(["cat", "/proc/net/route"]).stdout.splitlines()[1:]
    assert {line.split()[0] for line in routes} <= {"docker0"}
    assert "00000000" not in {line.split()[1] for line in routes}  # where all else would go


def test_a_killed_test_run_leaves_no_process(engine: Engine) -> None:
    """`engine` only ends the test where none can be had."""
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    with subprocess.Popen(
        [sys.executable, "-c", TEST_RUN], cwd=ROOT, env=environment, stdout=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        folder = Path(run.stdout.readline().decode().strip())
        assert named_by_a_process(folder)
        run.send_signal(signal.SIGKILL)

    end = time.monotonic() + 10
    while named_by_a_process(folder):
        assert time.monotonic() < end
        time.sleep(0.1)
    (folder / "log").unlink()
    folder.rmdir()


def named_by_a_process(folder: Path) -> bool:
    """Whether any process was started with the folder's name, as dockerd is."""
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if folder.name.encode() in command.read_bytes():
                return True
        except OSError:  # it has just ended
            continue
    return False
