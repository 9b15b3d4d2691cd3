"""Two ways to start a worker: as a fork of the host, which has the libraries, or as a separate interpreter."""

import contextlib
import gc
import os
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from mucast_engine.libraries import import_libraries
from mucast_engine.process import StartMethod, die_with_parent, thread_count
from mucast_engine.worker import serve


class WorkerStarter(Protocol):
    """Starts workers of one host."""

    method: StartMethod

    def start(self, close_inherited: Callable[[], None]) -> tuple[int, socket.socket]:
        """Starts a worker as the leader of its own process group; returns its pid and the host's end of its socket.

        A worker that inherits the host's descriptors closes them by `close_inherited`.
        """
        ...


def starter_for(libraries: list[str], folder: Path, asked: StartMethod) -> WorkerStarter:
    """The starter of workers that need `libraries`; it forks if that is `asked` for and safe.

    Imports the libraries for a fork.
    """
    if asked == "fork":
        import_libraries(libraries)
        # A fork would take one thread along and leave the locks of the others held forever.
        if thread_count() == 1:
            return ForkStarter(folder)
    return SpawnStarter(libraries, folder)


class ForkStarter:
    """Forks the host, so that a worker is ready in milliseconds. Only for a host of one thread, and not on macOS."""

    method: StartMethod = "fork"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        gc.collect()
        gc.freeze()  # Keeps the collector from touching, and so copying, the pages that forked workers share.

    def start(self, close_inherited: Callable[[], None]) -> tuple[int, socket.socket]:
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
            close_inherited()
            serve(theirs, self._folder)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(1)


class SpawnStarter:
    """Starts a new interpreter, which imports the libraries itself: a worker is ready after seconds."""

    method: StartMethod = "spawn"

    def __init__(self, libraries: list[str], folder: Path) -> None:
        self._command = [sys.executable, *_interpreter_flags(), "-m", "mucast_engine", "worker"]
        self._command += ["--libraries", ",".join(libraries), "--folder", str(folder)]

    def start(self, close_inherited: Callable[[], None]) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair()
        theirs.set_inheritable(True)
        command = [*self._command, "--parent", str(os.getpid()), "--descriptor", str(theirs.fileno())]
        pid = os.posix_spawn(sys.executable, command, os.environ, setpgroup=0)
        theirs.close()
        return pid, ours


def _interpreter_flags() -> list[str]:
    """Options that this interpreter was started with and that decide where modules come from."""
    return [flag for flag, is_set in (("-s", sys.flags.no_user_site), ("-P", sys.flags.safe_path)) if is_set]


def _lead_own_group(pid: int) -> None:
    """Parent and child both request it, so that the group exists whichever runs first."""
    # Refused if the child has done it and moved on, or has ended already.
    with contextlib.suppress(PermissionError, ProcessLookupError):
        os.setpgid(pid, pid)
