"""What every process of the engine does: it ends with its parent, and keeps stdout free of what libraries print."""

import ctypes
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Literal

# How the host starts workers.
StartMethod = Literal["fork", "spawn"]

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Linux: the kernel kills this process when the thread that created it ends. `parent` is the pid of its creator."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # It died before the signal was requested.
        os._exit(1)


def has_hung_up(descriptor: int) -> bool:
    """Whether the other end of a pipe or socket is closed."""
    poll = select.poll()
    poll.register(descriptor, select.POLLHUP)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def watch_parent(parent: int) -> None:
    """Ends this process when its parent dies. Only Linux signals that to a busy process; elsewhere a thread checks
    every second.

    Only for a process that is never forked.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def claim_stdout() -> int:
    """A descriptor of the true stdout; from now on, everything that is printed, in Python or in C, goes to stderr."""
    claimed = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return claimed


def silence_input() -> None:
    """Points stdin at /dev/null."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def thread_count() -> int:
    """Threads of this process as the kernel counts them; 1 if there is no /proc (macOS, which never forks)."""
    try:
        return sum(1 for _ in Path("/proc/self/task").iterdir())
    except FileNotFoundError:
        return 1
