"""Two ways to start a worker: a fork of the host, which has the libraries already, or an interpreter of its own."""

import contextlib
import gc
import os
import platform
import socket
import sys
import time
import traceback
from pathlib import Path

from mucast_engine.arrays import Message
from mucast_engine.host import Host, Prepare, Start
from mucast_engine.libraries import import_libraries, library_versions
from mucast_engine.process import die_with_parent, thread_count


def preparing(folder: Path, start: str) -> Prepare:
    """What a host does before it starts workers; `start` is `fork` where that is safe, or `spawn`."""

    def prepare(libraries: list[str]) -> tuple[Start, Message]:
        started = time.perf_counter()
        if start == "fork":
            import_libraries(libraries)
        # A fork would take one thread along and leave the locks of the others held for ever.
        forks = start == "fork" and thread_count() == 1
        return forking(folder) if forks else spawning(libraries, folder), {
            "event": "ready",
            "versions": {"python": platform.python_version(), **library_versions(libraries)},
            "start": "fork" if forks else "spawn",
            "import_seconds": time.perf_counter() - started,
        }

    return prepare


def forking(folder: Path) -> Start:
    """Workers start in milliseconds, but only from a process of one thread, and not on macOS."""
    from mucast_engine.worker import serve

    gc.collect()
    gc.freeze()  # Keeps the collector from touching, and so copying, the pages that forked workers share.

    def start(host: Host) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair()
        parent = os.getpid()
        sys.stderr.flush()
        pid = os.fork()
        if pid != 0:
            theirs.close()
            _lead_own_group(pid)
            return pid, ours
        try:
            os.setpgid(0, 0)
            die_with_parent(parent)
            ours.close()
            host.close_in_child()
            serve(theirs, folder)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(1)

    return start


def spawning(libraries: list[str], folder: Path) -> Start:
    """Workers import the libraries themselves, so each takes seconds to be ready."""

    def start(_: Host) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair()
        theirs.set_inheritable(True)
        command = [sys.executable, *_interpreter_flags(), "-m", "mucast_engine", "worker"]
        command += ["--libraries", ",".join(libraries), "--folder", str(folder)]
        command += ["--parent", str(os.getpid()), "--descriptor", str(theirs.fileno())]
        pid = os.posix_spawn(sys.executable, command, os.environ, setpgroup=0)
        theirs.close()
        return pid, ours

    return start


def _interpreter_flags() -> list[str]:
    """Those that this interpreter was started with and that decide where modules come from."""
    return [flag for flag, is_set in (("-s", sys.flags.no_user_site), ("-P", sys.flags.safe_path)) if is_set]


def _lead_own_group(pid: int) -> None:
    """Parent and child both ask for it, so that the group is there whichever of them runs first."""
    # Refused where the child has done it and gone on, or has ended already.
    with contextlib.suppress(PermissionError, ProcessLookupError):
        os.setpgid(pid, pid)
