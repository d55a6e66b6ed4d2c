"""What a process did outside itself, from strace: whom it contacted and where it wrote.

Attempts count. Looked at below Python, because onnxruntime is C++: an audit hook would not see its
connections or files.
"""

import re
from pathlib import Path
from typing import Final

STRACE: Final = (
    "strace",
    "-f",
    "-qq",
    "--seccomp-bpf",
    "-s",
    "4096",
    "-e",
    "trace=%network,%file",
    "-o",
)
OUTGOING: Final = re.compile(r"^\d+ +(connect|sendto|sendmsg|sendmmsg)\(")
ADDRESS: Final = re.compile(
    r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)")'
)
CHANGING: Final = re.compile(
    r"^\d+ +(creat|mkdir(?:at)?|mknod(?:at)?|rename(?:at2?)?|unlink(?:at)?|rmdir|link(?:at)?"
    r"|symlink(?:at)?|truncate|chmod|fchmodat2?|chown|lchown|fchownat|utime|utimes|utimensat|futimesat)\("
)
OPENING: Final = re.compile(r"^\d+ +open(?:at|at2)?\(")
FOR_WRITING: Final = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")
PATH: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')


def contacts(trace: Path) -> set[tuple[str, int]]:
    """(address, port) of every connection or datagram that was tried."""
    found = set()
    for line in trace.read_text("utf-8", errors="replace").splitlines():
        if OUTGOING.match(line):
            found |= {(v4 or v6, int(port)) for port, v4, v6 in ADDRESS.findall(line)}
    return found


def writes(trace: Path) -> set[str]:
    """Paths that were opened for writing, created, changed or removed, or tried to be."""
    found = set()
    for line in trace.read_text("utf-8", errors="replace").splitlines():
        opened = OPENING.match(line) and FOR_WRITING.search(PATH.sub("", line))
        if opened or CHANGING.match(line):
            found |= set(PATH.findall(line)[:2] if CHANGING.match(line) else PATH.findall(line)[:1])
    return found
