"""The runtime layer's packages: wheels for Lambda fetched, trimmed and checked.

They are for Amazon Linux 2023, not for this machine, so nothing fetched here is imported or run.
Not a resolver: requirements.txt is the complete closure and pip is told to take exactly that.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Final

# onnxruntime publishes manylinux_2_28 only; numpy 2_27; the rest 2014. pip matches names exactly.
MANYLINUX: Final = ("manylinux_2_28", "manylinux_2_27", "manylinux2014")
MACHINES: Final = {"x86_64": "x86_64", "arm64": "aarch64"}  # Lambda's name -> the wheels' name
ELF_MACHINES: Final = {"x86_64": 62, "arm64": 183}  # e_machine: EM_X86_64, EM_AARCH64

# In every Lambda Python runtime already.
PROVIDED: Final = frozenset(
    {"boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3"}
)

# What importlib.metadata is asked for on our paths: the versions in GET /info, and OpenTelemetry's
# entry points when OTEL_PROPAGATORS is set. The other packages' go: pydantic reads every one it
# finds while it is imported.
KEPT_METADATA: Final = (
    "fastapi",
    "mangum",
    "numpy",
    "onnxruntime",
    "opentelemetry_api",
    "tokenizers",
)

# Glob patterns under the packages' folder. libonnxruntime.so is for C programs: the Python binding
# has the engine linked in. libonnxruntime_providers_shared.so stays, or each import logs a warning.
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
PIP_OPTIONS: Final = (
    "--disable-pip-version-check",
    "--no-input",
    "--progress-bar=off",
    "--root-user-action=ignore",
    "--no-deps",
    "--no-compile",
    "--only-binary=:all:",
    "--implementation=cp",
)
LICENCES: Final = re.compile(r"(LICEN[CS]E|NOTICE|COPYING|AUTHORS)", re.IGNORECASE)


class LayerError(Exception):
    """The layers cannot be assembled; the message is one sentence for whoever runs the command."""


def pinned(requirements: Path) -> list[str]:
    """What goes into the layer, sorted: all of requirements.txt but what Lambda provides.

    Raises LayerError for a line that pins no version.
    """
    lines = (line.split("#")[0].strip() for line in requirements.read_text("utf-8").splitlines())
    found = sorted(line for line in lines if line)
    for pin in found:
        if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9._+!-]+", pin):
            raise LayerError(f"{requirements.name}: {pin!r} is not pinned as name==version.")
    return [pin for pin in found if pin.split("==")[0].lower() not in PROVIDED]


def fetch(pins: list[str], arch: str, python: str, folder: Path) -> None:
    """Installs the wheels of `pins` into `folder`; prints one line per package.

    Raises LayerError with pip's last error.
    """
    options = [f"--python-version={python}", f"--target={folder}"]
    options += [f"--platform={name}_{MACHINES[arch]}" for name in MANYLINUX]

    errors: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-m", "pip", "install", *PIP_OPTIONS, *options, *pins],
        env=os.environ | {"PIP_USER": "0"},  # --user and --target exclude each other
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as pip:
        for line in pip.stdout or ():
            if line.startswith(("Collecting ", "Processing ")):  # from an index, or from this disk
                print(f"  {line.split()[1].rpartition('/')[2]}", flush=True)
            elif line.startswith("ERROR: ") or "No module named pip" in line:
                errors.append(line.removeprefix("ERROR: ").strip())

    if pip.returncode:
        reason = errors[-1] if errors else f"pip ended with code {pip.returncode}"
        raise LayerError(f"no packages for Python {python} on {arch}: {reason.rstrip('.')}.")


def trim(folder: Path, licences: Path) -> None:
    """Removes what no run needs from `folder`; the packages' licence texts move to `licences`."""
    for pattern in DROPPED:
        for path in sorted(folder.glob(pattern)):
            remove(path)
    for info in sorted(folder.glob("*.dist-info")):
        _move_licences(info, licences / info.stem)
        _trim_metadata(info)


def _move_licences(info: Path, goal: Path) -> None:
    texts = [path for path in sorted(info.rglob("*")) if LICENCES.match(path.name)]
    for text in texts:
        if text.is_file():
            moved = goal / text.relative_to(info)
            moved.parent.mkdir(parents=True, exist_ok=True)
            text.rename(moved)


def _trim_metadata(info: Path) -> None:
    name = info.stem.rpartition("-")[0]
    for path in sorted(info.iterdir()):
        if path.name not in ("METADATA", "entry_points.txt"):
            remove(path)
    if name not in KEPT_METADATA:
        shutil.rmtree(info)


def remove(path: Path) -> None:
    """Removes a file or a whole folder, whichever it is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def check_binaries(folder: Path, arch: str, python: str) -> int:
    """The number of shared objects under `folder`.

    Raises LayerError when one does not fit the architecture and the Python version.
    """
    found = binaries(folder)
    for path in found:
        misfit = _misfit(path, arch, python)
        if misfit:
            name = path.relative_to(folder)
            raise LayerError(f"{name} does not fit Python {python} on {arch}: {misfit}.")
    return len(found)


def binaries(folder: Path) -> list[Path]:
    """Every shared object under `folder`, sorted."""
    named = sorted(folder.rglob("*.so*"))
    return [path for path in named if re.search(r"\.so(\.\d+)*$", path.name)]


def _misfit(path: Path, arch: str, python: str) -> str | None:
    """Why a shared object cannot be loaded there, from its ELF header and its name; or None."""
    with path.open("rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF":
        return "it is not an ELF file"
    if head[4:6] != b"\x02\x01":
        return "it is not 64-bit little-endian"

    (machine,) = struct.unpack_from("<H", head, 18)  # e_machine
    if machine != ELF_MACHINES[arch]:
        known = {number: name for name, number in ELF_MACHINES.items()}
        return f"its machine is {known.get(machine, f'number {machine}')}"

    tag = re.search(r"\.cpython-(\d+)([a-z]*)-", path.name)
    if tag and tag[1] + tag[2] != python.replace(".", ""):
        return f"it is built for cpython-{tag[1]}{tag[2]}"
    return None
