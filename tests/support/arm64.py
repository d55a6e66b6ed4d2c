"""A Python of arm64 on this machine: Debian's, in qemu as a Neoverse N1, Lambda's Graviton2."""

from typing import Final

from builder.layers.bytecode import Interpreter, find
from support import debian

PYTHON: Final = "3.13"  # the one that the Debian release has
CPU: Final = "neoverse-n1"
FILES: Final = (f"python{PYTHON}-minimal", f"libpython{PYTHON}-stdlib", "libstdc++6")
QEMU: Final = "./usr/bin/qemu-aarch64"  # static; Debian 12's own version 7 crashes in onnxruntime


def interpreter() -> Interpreter:
    """A command that runs as that Python; ends the test where it cannot be had."""
    qemu = debian.unpack(["qemu-user"], only=[QEMU]) / QEMU
    root = debian.unpack(FILES, arch="arm64")
    script = root / f"python{PYTHON}"
    command = f'"{qemu}" -cpu {CPU} -L "{root}" "{root}/usr/bin/python{PYTHON}"'
    script.write_text(f'#!/bin/sh\nexec {command} "$@"\n', "utf-8")
    script.chmod(0o755)

    found = find(PYTHON, str(script))
    assert found is not None
    return found
