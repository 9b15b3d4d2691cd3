"""`python without-sockets.py PROGRAM [ARG ...]`: runs it under a kernel filter that ends whatever opens a socket.

Also detects sockets that a library opens in C++: the thread gets SIGSYS, which nothing in the engine handles. Unix
sockets are allowed, because the host and its workers communicate over them. Without the filter (no seccomp, another
machine) the program still runs; its caller finds out by trying to open a socket.
"""

import ctypes
import os
import platform
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
SECCOMP_MODE_FILTER = 2
SECCOMP_RET_TRAP, SECCOMP_RET_ALLOW = 0x0003_0000, 0x7FFF_0000
AF_UNIX = 1
# Offsets into `struct seccomp_data`.
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
# Instructions of the filter: load a word; compare and jump; return.
LOAD, EQUAL, GREATER, RETURN = 0x20, 0x15, 0x25, 0x06
# The kernel's number of the machine, and its number of socket(2).
MACHINES = {"x86_64": (0xC000_003E, 41), "aarch64": (0xC000_00B7, 198)}


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def forbid_sockets() -> None:
    machine = MACHINES.get(platform.machine())
    if machine is None or sys.platform != "linux":
        return
    architecture, socket = machine
    instructions = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 0, 5, architecture),
        (LOAD, 0, 0, NUMBER),
        (EQUAL, 0, 3, socket),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (GREATER, 0, 1, AF_UNIX),
        (RETURN, 0, 0, SECCOMP_RET_TRAP),
        (RETURN, 0, 0, SECCOMP_RET_ALLOW),
    ]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = Program(len(instructions), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)


if __name__ == "__main__":
    forbid_sockets()
    os.execv(sys.argv[1], sys.argv[1:])
