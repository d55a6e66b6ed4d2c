"""Files of a Debian release, for this machine's architecture or another: unpacked, not installed.

mmdebstrap resolves, downloads and checks the packages; nothing of them is run.
"""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from builder.layers.parts import digest
from support.needs import unavailable
from support.paths import BUILD

SUITE: Final = "trixie"
# Before the first package, which would make folders of these names.
MERGED_USR: Final = 'for name in bin sbin lib lib64; do ln -s usr/$name "$1/$name"; done'


def unpack(packages: Sequence[str], arch: str = "", only: Sequence[str] = ()) -> Path:
    """A folder, kept below .build, with the files of Debian `packages` and of all they depend on.

    `arch` is Debian's name of an architecture, by default this machine's; `only` limits the files
    to some, as "./usr/bin/NAME". Ends the test where mmdebstrap cannot be had or fails.
    """
    if shutil.which("mmdebstrap") is None:
        unavailable("mmdebstrap, which fetches what is run here, is not installed")
    fetch = [
        "mmdebstrap",
        "--quiet",
        "--variant=extract",
        f"--include={','.join(packages)}",
        f"--setup-hook={MERGED_USR}",
        *([f"--architectures={arch}"] if arch else []),
        SUITE,
    ]

    folder = BUILD / "debian" / f"{packages[0]}-{digest(*fetch, *only)[:8]}"
    if not folder.is_dir():
        new = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        _fetch(fetch, new, only)
        new.rename(folder)
    return folder


def _fetch(command: list[str], folder: Path, only: Sequence[str]) -> None:
    """Unpack while mmdebstrap writes its archive, which then never lies on the disk as a whole."""
    log = folder.with_name(f"{folder.name}.log")
    tar = ["tar", "-x", "--exclude=./dev/*", "-C", str(folder), *only]
    with (
        log.open("wb") as said,
        subprocess.Popen([*command, "-"], stdout=subprocess.PIPE, stderr=said) as source,
    ):
        unpacked = subprocess.run(tar, stdin=source.stdout, check=False)
    if source.returncode or unpacked.returncode:
        reason = log.read_text("utf-8", "replace").strip().rpartition("\n")[2]
        unavailable(f"mmdebstrap could not fetch Debian {SUITE}: {reason or log}")
