"""The parent of a job's workers: starts them, passes on their tasks and answers, and reports how they ended.

It is one loop on one thread and runs no task itself, so that it notices at once when its own stdin ends.
"""

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import Literal, NamedTuple

from mucast_engine.arrays import Message
from mucast_engine.failure import unknown
from mucast_engine.libraries import import_libraries
from mucast_engine.machine import greeting
from mucast_engine.process import StartMethod, die_with_parent, thread_count
from mucast_engine.worker import serve

# What a request asks for; the caller's protocol has the same names.
Op = Literal["import", "start", "task", "kill"]

CHUNK = 1 << 16


class Running(NamedTuple):
    """A worker process and the host's end of its socket."""

    pid: int
    connection: socket.socket
    pending: bytearray


class Host:
    """Requests come as lines from `stdin`: `{"op": "start" | "task" | "kill", "worker": number}`.

    A task's request also has its `id` and, after a tab, the task's JSON, which goes to the worker unread, so that
    nothing in it can break the host. A host that was started before its job was known gets `{"op": "import",
    "libraries": [...]}` before any worker is started. `method` is how workers are started if that is safe; `folder` is
    the work folder.
    """

    def __init__(self, stdin: int, stdout: int, folder: Path, method: StartMethod) -> None:
        self._stdin, self._stdout, self._folder, self._method = stdin, stdout, folder, method
        self._libraries: list[str] = []
        self._start: StartMethod = method
        self._requests = bytearray()
        self._serving = True
        self._workers: dict[int, Running] = {}
        self._selector = selectors.DefaultSelector()
        self._wake, wake_writer = socket.socketpair()
        self._wake.setblocking(False)
        wake_writer.setblocking(False)
        self._wake_writer = wake_writer
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_writer.fileno(), warn_on_full_buffer=False)

    def run(self) -> None:
        """Serves until stdin ends; then every worker is killed and waited for."""
        self._selector.register(self._stdin, selectors.EVENT_READ, self._read_requests)
        self._selector.register(self._wake, selectors.EVENT_READ, self._reap)
        try:
            while self._serving:
                for key, _ in self._selector.select():
                    key.data()
        finally:
            for worker in self._workers.values():
                _kill_group(worker.pid)
            for worker in self._workers.values():
                os.waitpid(worker.pid, 0)

    def prepare(self, libraries: list[str]) -> None:
        """Imports what is not imported yet, and greets with the facts of `libraries` alone."""
        assert not self._workers
        started = time.perf_counter()
        self._libraries, self._start = libraries, "spawn"
        if self._method == "fork":
            import_libraries(libraries)
            # A fork would take one thread along and leave the locks of the others held forever.
            if thread_count() == 1:
                self._start = "fork"
                gc.collect()
                gc.freeze()  # Keeps the collector from touching, and so copying, the pages that forked workers share.
        self._emit(
            {
                "event": "ready",
                **greeting(libraries),
                "start": self._start,
                "import_seconds": time.perf_counter() - started,
            }
        )

    def _fork(self) -> tuple[int, socket.socket]:
        """Starts a worker, ready in milliseconds, as the leader of its own process group. Returns its pid and the
        host's end of its socket.

        Only for a host of one thread, and not on macOS.
        """
        ours, theirs = socket.socketpair()
        parent = os.getpid()
        sys.stderr.flush()
        pid = os.fork()
        if pid != 0:
            theirs.close()
            # The child requests it too, so that the group exists whichever runs first. Refused if the child has done
            # it and moved on, or has ended already.
            with contextlib.suppress(PermissionError, ProcessLookupError):
                os.setpgid(pid, pid)
            return pid, ours
        try:
            os.setpgid(0, 0)
            die_with_parent(parent)
            ours.close()
            self._close_inherited()
            serve(theirs, self._folder)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(1)

    def _close_inherited(self) -> None:
        """Closes every descriptor that belongs to the host."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for worker in self._workers.values():
            worker.connection.close()
        self._wake.close()
        self._wake_writer.close()
        os.close(self._stdin)
        os.close(self._stdout)

    def _spawn(self) -> tuple[int, socket.socket]:
        """Like `_fork`, with a new interpreter, which imports the libraries itself: ready after seconds."""
        ours, theirs = socket.socketpair()
        theirs.set_inheritable(True)
        # Options that this interpreter was started with and that decide where modules come from.
        flags = [flag for flag, is_set in (("-s", sys.flags.no_user_site), ("-P", sys.flags.safe_path)) if is_set]
        command = [sys.executable, *flags, "-m", "mucast_engine", "worker", "--libraries", ",".join(self._libraries)]
        command += ["--folder", str(self._folder), "--parent", str(os.getpid()), "--descriptor", str(theirs.fileno())]
        pid = os.posix_spawn(sys.executable, command, os.environ, setpgroup=0)
        theirs.close()
        return pid, ours

    def _emit(self, message: Message) -> None:
        self._write(json.dumps(message).encode() + b"\n")

    def _write(self, lines: bytes) -> None:
        view = memoryview(lines)
        while view:
            view = view[os.write(self._stdout, view) :]

    def _read_requests(self) -> None:
        chunk = os.read(self._stdin, CHUNK)
        self._requests += chunk
        for line in _whole_lines(self._requests):
            header, _, task = line.partition(b"\t")
            self._handle(json.loads(header), task)
        self._serving = bool(chunk)

    def _handle(self, request: Message, task: bytes) -> None:
        op: Op = request["op"]
        match op:
            case "import":
                self.prepare(request["libraries"])
            case "start":
                self._start_worker(request["worker"])
            case "task":
                self._send_task(request["worker"], request["id"], task)
            case "kill":
                if request["worker"] in self._workers:
                    _kill_group(self._workers[request["worker"]].pid)
            case _:
                raise unknown("request", op)

    def _send_task(self, number: int, attempt: int, task: bytes) -> None:
        worker = self._workers.get(number)
        if worker is None:
            return  # It has ended, and the pool learns that from its end.
        try:
            worker.connection.sendall(b"%d\t%s\n" % (attempt, task))
        except OSError:
            _kill_group(worker.pid)  # It is dying; its end is reported when it is reaped.

    def _start_worker(self, number: int) -> None:
        pid, connection = self._fork() if self._start == "fork" else self._spawn()
        worker = Running(pid, connection, bytearray())
        self._workers[number] = worker
        self._selector.register(connection, selectors.EVENT_READ, lambda: self._relay(number, worker))
        self._emit({"event": "worker_started", "worker": number, "pid": pid})

    def _relay(self, number: int, worker: Running) -> None:
        if self._workers.get(number) is worker and not self._passed_on(worker):
            self._selector.unregister(worker.connection)
            _kill_group(worker.pid)

    def _passed_on(self, worker: Running) -> bool:
        """Relays complete lines only: a worker that dies in the middle of one leaves no partial answer."""
        try:
            chunk = worker.connection.recv(CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        worker.pending.extend(chunk)
        self._write(b"".join(line + b"\n" for line in _whole_lines(worker.pending)))
        return bool(chunk)

    def _reap(self) -> None:
        try:
            while self._wake.recv(CHUNK):
                pass
        except BlockingIOError:
            pass
        for number, worker in list(self._workers.items()):
            pid, status, usage = os.wait4(worker.pid, os.WNOHANG)
            if pid != 0:
                self._report_end(number, worker, status, usage.ru_maxrss)

    def _report_end(self, number: int, worker: Running, status: int, max_rss: int) -> None:
        while self._passed_on(worker):
            pass
        if worker.connection in self._selector.get_map():
            self._selector.unregister(worker.connection)
        worker.connection.close()
        del self._workers[number]
        self._emit(
            {
                "event": "worker_exited",
                "worker": number,
                "pid": worker.pid,
                "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
                "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
                "max_rss_bytes": max_rss * RSS_UNIT,
            }
        )


# getrusage counts kibibytes on Linux and bytes on macOS.
RSS_UNIT = 1 if os.uname().sysname == "Darwin" else 1024


def _whole_lines(buffer: bytearray) -> list[bytes]:
    """Removes the complete lines from `buffer` and returns them without their line feeds."""
    end = buffer.rfind(b"\n")
    if end < 0:
        return []
    lines = bytes(buffer[:end]).split(b"\n")
    del buffer[: end + 1]
    return lines


def _kill_group(pid: int) -> None:
    """Kills a worker that has not been waited for yet, with whatever it started."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
