"""A CPU quota for a process, by cgroup v1 or v2, where root may set one: how Lambda gives less than
a CPU.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PERIOD = 20_000  # microseconds: a start of 200 ms meets ten periods
ROOTS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))


@contextmanager
def quota(cpus: float) -> Iterator[tuple[str, ...] | None]:
    """The command that runs its arguments under the quota; None where no quota can be set."""
    group = _make(cpus)
    if group is None:
        yield None
        return
    tasks = group / ("tasks" if (group / "tasks").exists() else "cgroup.procs")
    try:
        yield ("sh", "-c", 'echo $$ > "$0"; exec "$@"', str(tasks))
    finally:
        _remove(group)


def _make(cpus: float) -> Path | None:
    for root in ROOTS:
        group = root / f"fillmask-bench-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if (group / "cpu.cfs_quota_us").exists():
                (group / "cpu.cfs_period_us").write_text(str(PERIOD))
                (group / "cpu.cfs_quota_us").write_text(str(int(cpus * PERIOD)))
            else:
                (group / "cpu.max").write_text(f"{int(cpus * PERIOD)} {PERIOD}")
        except OSError:
            _remove(group)
            continue
        return group
    return None


def _remove(group: Path) -> None:
    for _ in range(50):
        try:
            group.rmdir()
        except OSError:  # its last process is still ending
            time.sleep(0.02)
        else:
            return
