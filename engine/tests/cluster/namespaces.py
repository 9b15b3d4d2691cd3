"""Namespaces of the Linux kernel: what runs in them reaches nothing outside, and ends with them.

Python has `os.unshare` and `os.setns` from 3.12 on; these are the same calls.
"""

import ctypes
import errno
import os
from pathlib import Path

NEWNS, NEWUSER, NEWPID, NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
_PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)

WHAT_TO_DO = (
    "a Ray cluster of tests needs a network namespace of its own, because Ray binds every interface of its machine. "
    "Run as root (in a container with --privileged, or as another user with --security-opt seccomp=unconfined, "
    "apparmor=unconfined and systempaths=unconfined), or let "
    "users make namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu 24.04 and later, "
    "sysctl kernel.unprivileged_userns_clone=1 on older Debian, user.max_user_namespaces above 0)"
)


class NamespaceError(RuntimeError):
    """The system lets this user have no namespace; the message says what to do."""


def unshare(flags: int) -> None:
    _call("unshare", flags)


def isolate() -> None:
    """Gives this process a network and mounts of its own, and its next child a process tree of its own.

    Where the user is not root, in a user namespace in which it is.
    """
    uid, gid = os.geteuid(), os.getegid()
    try:
        unshare(NEWNS | NEWNET | NEWPID)
    except OSError as refused:
        if refused.errno != errno.EPERM:
            raise NamespaceError(f"{refused.strerror}: {WHAT_TO_DO}") from refused
        try:
            unshare(NEWUSER | NEWNS | NEWNET | NEWPID)
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
            Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
        except OSError as error:
            raise NamespaceError(f"{error.strerror}: {WHAT_TO_DO}") from error


def enter(pid: int) -> None:
    """Joins the network of process `pid`, as its user namespace lets this process."""
    for kind, flag in [("user", NEWUSER), ("net", NEWNET)]:
        theirs = Path(f"/proc/{pid}/ns/{kind}")
        if theirs.readlink() == Path(f"/proc/self/ns/{kind}").readlink():
            continue
        descriptor = os.open(theirs, os.O_RDONLY)
        try:
            _call("setns", descriptor, flag)
        finally:
            os.close(descriptor)


def die_with_parent(signal: int) -> None:
    """Has the kernel send `signal` to this process when the thread that made it is gone."""
    _call("prctl", _PR_SET_PDEATHSIG, signal)


def own_mounts(place: str) -> None:
    """Hides /proc, /dev/shm and `place` behind file systems of this namespace, which are gone with its last process."""
    recursive, private = 0x4000, 0x40000
    try:
        _call("mount", b"none", b"/", None, recursive | private, None)
        for kind, where in [("proc", "/proc"), ("tmpfs", "/dev/shm"), ("tmpfs", place)]:
            mount(kind, where)
    except OSError as error:
        raise NamespaceError(f"{error.strerror}: {WHAT_TO_DO}") from error


def mount(kind: str, place: str) -> None:
    """Hides `place` behind a new file system of that kind, in the mounts of this process."""
    _call("mount", kind.encode(), place.encode(), kind.encode(), 0, b"")


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
