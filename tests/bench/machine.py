"""What the figures were taken on; without it they mean nothing."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

FLAGS = (
    "avx2",
    "avx512f",
    "avx512_vnni",
    "avx_vnni",
    "avx512_bf16",
    "amx_int8",
    "asimddp",
    "i8mm",
    "sve",
)
PACKAGES = (
    "onnxruntime",
    "numpy",
    "tokenizers",
    "fastapi",
    "mangum",
    "boto3",
    "transformers",
    "torch",
    "openvino",
    "awslambdaric",
)


def describe() -> dict[str, Any]:
    """CPU, cores, kernel, Python and package versions, the load before the run, the day."""
    told = _cpuinfo()
    flags = (told.get("flags") or told.get("Features") or "").split()
    return {
        "day": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cpu": told.get("model name", platform.processor() or platform.machine()),
        "flags": [flag for flag in FLAGS if flag in flags],
        "cores": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "load": round(os.getloadavg()[0], 2),
    }


def _cpuinfo() -> dict[str, str]:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())  # of the first CPU
    return found
