"""How many CPUs this process may really use: Lambda's share by memory, a container's quota, its affinity.

onnxruntime's own count is the host's, which under a quota of one means threads that wait for each other.
"""

import os
from pathlib import Path
from typing import Final

MEMORY_OF_ONE_CPU: Final = (
    1769  # MB; Lambda's documentation: "at 1,769 MB, a function has the equivalent of one vCPU"
)
CGROUP: Final = Path("/sys/fs/cgroup")


def granted(memory_mb: int, cgroup: Path = CGROUP) -> float:
    """CPUs, at least a small fraction; `memory_mb` is Lambda's setting, 0 where there is none."""
    shares = [float(len(os.sched_getaffinity(0)))]
    if memory_mb:
        shares.append(memory_mb / MEMORY_OF_ONE_CPU)
    quota = _quota(cgroup)
    return min([*shares, quota]) if quota else min(shares)


def threads(cpus: float) -> int:
    """Threads worth having on so many CPUs: a thread on a small part of one mostly waits."""
    return max(1, int(cpus + 0.35))


def _quota(cgroup: Path) -> float | None:
    """CPUs that the control group allows (v2, else v1); None without a limit."""
    try:
        quota, period = (cgroup / "cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        try:
            quota, period = (
                (cgroup / "cpu" / f"cpu.cfs_{name}_us").read_text(encoding="ascii")
                for name in ("quota", "period")
            )
        except OSError:
            return None
    try:
        return int(quota) / int(period) if int(quota) > 0 else None
    except ValueError:  # "max"
        return None
