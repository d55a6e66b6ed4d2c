"""How many CPUs this process may really use: Lambda's share, a container's quota, its affinity.

onnxruntime counts the host's CPUs. Under a quota of one CPU, its threads wait for each other.
"""

import os
from pathlib import Path
from typing import Final

# Lambda's documentation: "At 1,769 MB, a function has the equivalent of one vCPU".
MEMORY_MB_PER_CPU: Final = 1769
CGROUP: Final = Path("/sys/fs/cgroup")
MAY_LACK: Final = 0.35  # of a CPU that still gets a thread; a thread on less of one mostly waits


def granted(memory_mb: int, cgroup: Path = CGROUP) -> float:
    """CPUs granted, possibly a fraction; `memory_mb` is Lambda's setting, 0 elsewhere."""
    shares = [float(len(os.sched_getaffinity(0)))]
    if memory_mb:
        shares.append(memory_mb / MEMORY_MB_PER_CPU)

    quota = _quota(cgroup)
    if quota:
        shares.append(quota)

    return min(shares)


def threads(cpus: float) -> int:
    """How many threads are worth having on so many CPUs; at least one."""
    return max(1, int(cpus + MAY_LACK))


def _quota(cgroup: Path) -> float | None:
    """CPUs that the control group allows (version 2, else version 1); None without a limit."""
    version_2 = _text(cgroup / "cpu.max")
    told = version_2 or " ".join(
        _text(cgroup / "cpu" / name) for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    )

    try:
        quota, period = map(int, told.split())
    except ValueError:  # no such files, or "max"
        return None
    return quota / period if quota > 0 else None


def _text(file: Path) -> str:
    """What the file says; empty where it cannot be read."""
    try:
        return file.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
