"""Runs a command where no network but loopback can be reached.

    unshare --net python loopback_only.py COMMAND...

In a new network namespace even loopback is down at first.
"""

import fcntl
import os
import socket
import struct
import sys

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1  # linux/sockios.h, linux/if.h

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    request = struct.pack("16sh14x", b"lo", 0)
    name, flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", name, flags | IFF_UP))
os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - a known program
