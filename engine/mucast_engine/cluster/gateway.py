"""The host's place for a job on a cluster: requests come as lines on stdin, tasks go to nodes, answers go to stdout.

One thread, the loop, owns all state. A reader of stdin, a sender of arrays and tasks, and Ray's own threads pass it
what to do next, and make each call that can block. So the end of stdin ends the gateway, whether the cluster answers or
not.
"""

import contextlib
import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from mucast_engine.arrays import Message
from mucast_engine.cluster.address import parse_address
from mucast_engine.cluster.connect import connect
from mucast_engine.cluster.digest import engine_digest
from mucast_engine.cluster.dispatch import Dispatch
from mucast_engine.cluster.fault import ClusterError, ConnectionLostError, unavailable
from mucast_engine.cluster.inspection import FIRST_ANSWER_SECONDS, Inspector
from mucast_engine.cluster.node import fingerprint
from mucast_engine.cluster.requests import Op, read_task
from mucast_engine.cluster.session import Session
from mucast_engine.failure import sentence_of, unknown
from mucast_engine.libraries import library_versions

CHUNK = 1 << 16
TICK_SECONDS = 0.1
# Between two messages that say that the loop runs: the caller kills a gateway that tells nothing for 120 s.
HEARTBEAT_SECONDS = 10.0
# How long leaving may take before the process ends all the same.
LEAVE_SECONDS = 4.0
# The exit code of a gateway that has lost its connection, for who reads the log: whatever the code, its caller starts
# another gateway, once.
LOST = 3

# Those of the gateway's environment that engine processes on nodes get: what decides threads and kernels.
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "MUCAST_KERNEL_LEVEL",
    "OPENBLAS_CORETYPE",
    "NPY_DISABLE_CPU_FEATURES",
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
)


class Loop:
    """Acts in the order in which threads pass them, and ticks between them."""

    def __init__(self) -> None:
        self._acts: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._serving = True

    def call(self, act: Callable[[], None]) -> None:
        """From any thread."""
        self._acts.put(act)

    def stop(self) -> None:
        self._serving = False

    def run(self, tick: Callable[[], None]) -> None:
        """Until an act calls `stop`, or raises."""
        ticked = time.monotonic()
        while self._serving:
            act: Callable[[], None] | None = None
            with contextlib.suppress(queue.Empty):
                act = self._acts.get(timeout=TICK_SECONDS)
            if act is not None:
                act()
            if time.monotonic() - ticked >= TICK_SECONDS:
                tick()
                ticked = time.monotonic()

    def wait(self) -> None:
        """Until `stop` is passed; drops all else."""
        while self._acts.get() != self.stop:
            pass


def run(
    stdin: int,
    stdout: int,
    libraries: list[str],
    folder: Path,
    address: str,
    insecure: bool,
    expected: str | None = None,
) -> int:
    """Serves until stdin ends. Returns the exit code of the process: 0, or LOST.

    `expected` is the fingerprint that a gateway before this one has greeted its caller with.
    """
    started = time.perf_counter()
    loop = Loop()
    gateway = Gateway(loop, stdout)
    threading.Thread(target=_read_requests, args=(stdin, loop, gateway), daemon=True).start()
    session: Session | None = None
    try:
        with told_in_words():
            session = connect(parse_address(address), insecure, returns=expected is not None)
            spec = {
                "libraries": libraries,
                "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
            }
            inspector = Inspector(session, loop, spec, library_versions(libraries), engine_digest(), expected)
            gateway.open(Dispatch(session, loop, inspector, folder, gateway.emit), started, str(parse_address(address)))
        loop.run(gateway.tick)
        return 0
    except ClusterError as fault:
        gateway.emit({"event": "failed", "code": fault.code, "message": fault.message, "data": fault.data})
        loop.wait()  # The caller ends stdin once it has read why.
        return 0
    except ConnectionLostError as error:
        print(f"the connection to the cluster was lost: {sentence_of(error)}", file=sys.stderr)
        return LOST
    finally:
        if session is not None:
            _leave(session)


@contextlib.contextmanager
def told_in_words() -> Iterator[None]:
    """Until the gateway has greeted, all that ends it is a ClusterError, which its caller shows to the user."""
    try:
        yield
    except ClusterError:
        raise
    except ConnectionLostError as error:
        raise unavailable(f"the connection was lost while the nodes were inspected: {sentence_of(error)}") from None
    except Exception as error:  # Ray raises what it likes.
        traceback.print_exc(file=sys.stderr)
        raise ClusterError("engine_crashed", f"the gateway could not connect: {sentence_of(error)}") from error


class Gateway:
    """Requests from the pool, and its messages to it."""

    def __init__(self, loop: Loop, stdout: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._loop, self._stdout, self._clock = loop, stdout, clock
        self._beat = clock()
        self._dispatch: Dispatch | None = None

    def open(self, dispatch: Dispatch, started: float, address: str) -> None:
        """Greets once the nodes have shown that they agree. Raises ClusterError, ConnectionLostError."""
        self._dispatch = dispatch
        session, nodes = dispatch.session, dispatch.nodes
        dispatch.inspector.admit_first(lambda words: self.emit({"event": "delayed", "message": words}))
        greeting = dispatch.inspector.shared
        self.emit(
            {
                "event": "ready",
                **{name: greeting[name] for name in ("versions", "threads", "kernel_level", "machine")},
                "start": "cluster",
                "import_seconds": time.perf_counter() - started,
                "slots": nodes.slots,
                "fingerprint": fingerprint(greeting),
                "cluster": {
                    "address": address,
                    "ray": session.version,
                    "nodes": [node.described for node in nodes.members],
                    "variables": session.head_variables(FIRST_ANSWER_SECONDS),
                },
            }
        )
        dispatch.begin()

    def take(self, line: bytes) -> None:
        """A request: its JSON, and after a tab the task's. Those that come before `open` wait in the loop."""
        assert self._dispatch is not None
        text, _, task = line.partition(b"\t")
        header = json.loads(text)
        op: Op = header["op"]
        match op:
            case "start":
                self._dispatch.start(header["worker"])
            case "task":
                self._dispatch.give(read_task(header, task))
            case "kill":
                self._dispatch.kill(header["worker"])
            case _:
                raise unknown("request", op)

    def tick(self) -> None:
        assert self._dispatch is not None
        self._dispatch.tick()
        if self._clock() - self._beat >= HEARTBEAT_SECONDS:
            self._beat = self._clock()
            self.emit({"event": "heartbeat"})

    def emit(self, message: Message) -> None:
        view = memoryview(json.dumps(message, allow_nan=False).encode() + b"\n")
        while view:
            view = view[os.write(self._stdout, view) :]


def _read_requests(stdin: int, loop: Loop, gateway: Gateway) -> None:
    pending = bytearray()
    while chunk := os.read(stdin, CHUNK):
        pending += chunk
        *lines, rest = pending.split(b"\n")
        pending = bytearray(rest)
        for line in lines:
            loop.call(partial(gateway.take, bytes(line)))
    # A cluster that keeps the loop waiting does not keep the process: then its grace ends the tasks.
    impatience = threading.Timer(LEAVE_SECONDS, os._exit, [0])
    impatience.daemon = True
    impatience.start()
    loop.call(loop.stop)


def _leave(session: Session) -> None:
    def leave() -> None:
        try:
            session.close()
        except Exception:  # It is being left.
            traceback.print_exc(file=sys.stderr)

    leaving = threading.Thread(target=leave, daemon=True)
    leaving.start()
    leaving.join(LEAVE_SECONDS)
