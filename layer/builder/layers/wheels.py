"""The runtime layer's packages: wheels for the target fetched, trimmed and checked.

The target is Lambda's Amazon Linux 2023, not this machine, so nothing fetched here is imported or run.
Not a resolver: requirements.txt is the complete closure and pip is told to take exactly that.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

# onnxruntime publishes manylinux_2_28 only; numpy 2_27; the rest 2014. pip matches these names exactly.
PLATFORMS: Final = ("manylinux_2_28", "manylinux_2_27", "manylinux2014")
MACHINES: Final = {"x86_64": "x86_64", "arm64": "aarch64"}  # Lambda's name -> the wheels' name
ELF_MACHINES: Final = {"x86_64": 62, "arm64": 183}  # e_machine: EM_X86_64, EM_AARCH64

# In every Lambda Python runtime already.
PROVIDED: Final = frozenset(
    {"boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3"}
)

# What importlib.metadata is asked for on our paths: the versions in GET /info, and OpenTelemetry's entry points
# when OTEL_PROPAGATORS is set. The other packages' go: pydantic reads every one it finds while it is imported.
KEPT_METADATA: Final = (
    "fastapi",
    "mangum",
    "numpy",
    "onnxruntime",
    "opentelemetry_api",
    "tokenizers",
)

# Glob patterns under the packages' folder. libonnxruntime.so is for C programs: the Python binding has
# the engine linked in. libonnxruntime_providers_shared.so stays, or each import logs a warning.
DROPPED: Final = (
    "bin",
    "**/__pycache__",
    "**/tests",
    "**/*.pyi",
    "**/*.pxd",
    "**/py.typed",
    "fastapi/.agents",
    "onnxruntime/backend",
    "onnxruntime/capi/libonnxruntime.so*",
    "onnxruntime/datasets",
    "onnxruntime/quantization",
    "onnxruntime/tools",
    "onnxruntime/transformers",
    "numpy/_core/_*_tests.*.so",
    "numpy/_core/_simd.*.so",
    "numpy/_core/include",
    "numpy/_core/lib",
    "numpy/_pyinstaller",
    "numpy/conftest.py",
    "numpy/distutils",
    "numpy/f2py",
    "numpy/random/_examples",
    "numpy/random/lib",
)
LICENCES: Final = re.compile(r"(LICEN[CS]E|NOTICE|COPYING|AUTHORS)", re.IGNORECASE)


class LayerError(Exception):
    """The layers cannot be assembled; the message is one sentence for the person at the keyboard."""


def wanted(requirements: Path) -> list[str]:
    """The pins that go into the layer, sorted: all of requirements.txt but what the runtime provides."""
    lines = (line.split("#")[0].strip() for line in requirements.read_text("utf-8").splitlines())
    pins = sorted(line for line in lines if line)
    for pin in pins:
        if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9._+!-]+", pin):
            raise LayerError(f"{requirements.name}: {pin!r} is not pinned as name==version.")
    return [pin for pin in pins if pin.split("==")[0].lower() not in PROVIDED]


def fetch(pins: list[str], arch: str, python: str, folder: Path) -> None:
    """Install the target's wheels of `pins` into `folder`; prints one line a package."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar=off",
        "--root-user-action=ignore",
        "--no-deps",
        "--no-compile",
        "--only-binary=:all:",
        "--implementation=cp",
        f"--python-version={python}",
        f"--target={folder}",
    ]
    command += [f"--platform={platform}_{MACHINES[arch]}" for platform in PLATFORMS]
    errors: list[str] = []
    # PIP_USER in the environment and --target exclude each other.
    with subprocess.Popen(
        [*command, *pins],
        env={**os.environ, "PIP_USER": "0"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as pip:
        for line in pip.stdout or ():
            if line.startswith(
                ("Collecting ", "Processing ")
            ):  # the latter: a wheel on this machine's disk
                print(f"  {line.split()[1].rpartition('/')[2]}", flush=True)
            elif line.startswith("ERROR: ") or "No module named pip" in line:
                errors.append(line.removeprefix("ERROR: ").strip())
    if pip.returncode:
        reason = errors[-1] if errors else f"pip ended with code {pip.returncode}"
        reason = reason.rstrip(".")
        raise LayerError(f"no packages for Python {python} on {arch}: {reason}.")


def trim(folder: Path, licences: Path) -> None:
    """Remove what no run needs from `folder`; the packages' licence texts move to `licences`."""
    for pattern in DROPPED:
        for path in sorted(folder.glob(pattern)):
            remove(path)
    for info in sorted(folder.glob("*.dist-info")):
        name = info.name.removesuffix(".dist-info")
        texts = [
            path for path in sorted(info.rglob("*")) if path.is_file() and LICENCES.match(path.name)
        ]
        for text in texts:
            goal = licences / name / text.relative_to(info)
            goal.parent.mkdir(parents=True, exist_ok=True)
            text.rename(goal)
        if name.rpartition("-")[0] not in KEPT_METADATA:
            shutil.rmtree(info)
            continue
        for path in sorted(info.iterdir()):
            if path.name not in ("METADATA", "entry_points.txt"):
                remove(path)


def remove(path: Path) -> None:
    """Remove a file or a whole folder, whichever it is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def check_binaries(folder: Path, arch: str, python: str) -> int:
    """Number of shared objects under `folder`, after checking that each fits the architecture and Python."""
    found = 0
    for path in binaries(folder):
        misfit = _misfit(path, arch, python)
        if misfit:
            raise LayerError(
                f"{path.relative_to(folder)} does not fit Python {python} on {arch}: {misfit}."
            )
        found += 1
    return found


def binaries(folder: Path) -> Iterator[Path]:
    """Every shared object under `folder`, sorted."""
    return (
        path for path in sorted(folder.rglob("*.so*")) if re.search(r"\.so(\.\d+)*$", path.name)
    )


def _misfit(path: Path, arch: str, python: str) -> str | None:
    with path.open("rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF":
        return "it is not an ELF file"
    if head[4:6] != b"\x02\x01":
        return "it is not 64-bit little-endian"
    machine = struct.unpack_from("<H", head, 18)[0]  # e_machine
    if machine != ELF_MACHINES[arch]:
        known = {number: name for name, number in ELF_MACHINES.items()}
        return f"its machine is {known.get(machine, f'number {machine}')}"
    tag = re.search(r"\.cpython-(\d+)([a-z]*)-", path.name)
    if tag and tag[1] + tag[2] != python.replace(".", ""):
        return f"it is built for cpython-{tag[1]}{tag[2]}"
    return None
