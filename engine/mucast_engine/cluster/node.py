"""What Ray's worker process on a node runs: a supervisor that gives tasks to an engine process of its own.

The gateway sends this module by value, so it imports the standard library alone: a node with another engine, or with
none, can still say what it lacks. Libraries run in the engine process (node_engine.py), whose environment is that of a
local host.
"""

import hashlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
from typing import Any

# Seconds between two reports of a task's progress.
PROGRESS_SECONDS = 0.5
# An engine process that imports for so long hangs. A busy node with a cold page cache can take several minutes.
START_SECONDS = 600.0

# The environment variables of a node that its engine process gets; none of Ray's, one of which may hold a token.
PASSED_ON = re.compile(
    r"^(PATH|HOME|USER|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|LD_PRELOAD|XDG_CACHE_HOME|PYTHONPATH|CUDA_\w+|NVIDIA_\w+)$"
)
STDERR_TAIL = 2000
CHUNK = 1 << 20


class EngineDiedError(Exception):
    """The engine process ended; the words say how."""


class EngineProcess:
    """A `mucast_engine node` and the pipes to it. It works on one task at a time, and ends with this process."""

    def __init__(self, spec: dict[str, Any]) -> None:
        """`spec`: `libraries` to import and the environment `variables` that they are to have."""
        self.spec = spec
        command = [
            sys.executable,
            "-s",
            "-P",
            "-m",
            "mucast_engine",
            "node",
            "--libraries",
            ",".join(spec["libraries"]),
        ]
        passed_on = {name: value for name, value in os.environ.items() if PASSED_ON.match(name)}
        self._process = subprocess.Popen(
            [*command, "--parent", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**passed_on, **spec["variables"]},
            cwd=tempfile.gettempdir(),
            bufsize=0,
        )
        self._pending = bytearray()
        self._stderr = bytearray()
        self._drain = threading.Thread(target=self._keep_stderr, daemon=True)
        self._drain.start()
        self.greeting: dict[str, Any] = {}

    def greet(self) -> None:
        """Waits until the libraries are imported. Raises EngineDiedError."""
        deadline = time.monotonic() + START_SECONDS
        while not self.greeting:
            if time.monotonic() > deadline:
                self.kill()
                raise EngineDiedError(f"its libraries were not imported within {START_SECONDS:.0f} s")
            line = self.line(1.0)
            if line is not None:
                self.greeting = greeting_in(line)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self._end()

    def send(self, task: bytes, arrays: list[dict[str, Any]], values: tuple[Any, ...]) -> None:
        """The task's JSON goes through unread; the bytes of the arrays follow it. Raises EngineDiedError."""
        line = json.dumps(arrays).encode() + b"\t" + task + b"\n"
        try:
            self._write(memoryview(line))
            for value in values:
                self._write(memoryview(value).cast("B"))
        except OSError:
            raise self._death() from None

    def line(self, seconds: float) -> bytes | None:
        """The next line without its end; None where none is complete within `seconds`. Raises EngineDiedError."""
        deadline = time.monotonic() + seconds
        while (end := self._pending.find(b"\n")) < 0:
            if not self._read(max(0.0, deadline - time.monotonic())):
                return None
        found = bytes(self._pending[:end])
        del self._pending[: end + 1]
        return found

    def bytes_of(self, size: int) -> bytes:
        """The `size` bytes that come next. Raises EngineDiedError."""
        while len(self._pending) < size:
            self._read(1.0)
        found = bytes(self._pending[:size])
        del self._pending[:size]
        return found

    def _write(self, view: memoryview) -> None:
        assert self._process.stdin is not None
        while view:
            view = view[os.write(self._process.stdin.fileno(), view[:CHUNK]) :]

    def _read(self, seconds: float) -> bool:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        if not select.select([descriptor], [], [], seconds)[0]:
            return False
        chunk = os.read(descriptor, CHUNK)
        if not chunk:
            raise self._death()
        self._pending += chunk
        return True

    def _death(self) -> EngineDiedError:
        code = self._end()
        last = bytes(self._stderr).decode(errors="replace").strip().split("\n")[-1]
        if code >= 0:
            return EngineDiedError(f"its process ended with exit code {code}{f': {last}' if last else ''}")
        name = signal.Signals(-code).name
        hint = ", as happens where the memory of its node runs out" if name == "SIGKILL" else ""
        return EngineDiedError(f"its process was ended by {name}{hint}")

    def _end(self) -> int:
        """Waits for the process, which has ended or was killed; its exit code."""
        code = self._process.wait()
        self._drain.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()
        return code

    def _keep_stderr(self) -> None:
        assert self._process.stderr is not None
        while chunk := os.read(self._process.stderr.fileno(), CHUNK):
            self._stderr += chunk
            del self._stderr[:-STDERR_TAIL]


def greeting_in(line: bytes) -> dict[str, Any]:
    """The greeting that ends `line`; empty where that is what the node's interpreter has printed before."""
    try:
        greeting: dict[str, Any] = json.loads(line[line.index(b'{"event"') :])
    except ValueError:
        return {}
    return greeting


def engine_process(spec: dict[str, Any]) -> EngineProcess:
    """That of the task before, where it has the same `spec` and lives; else a new one. Raises EngineDiedError."""
    kept = sys.modules.setdefault("mucast_engine_process", types.ModuleType("mucast_engine_process"))
    engine: EngineProcess | None = getattr(kept, "engine", None)
    if engine is not None and engine.spec == spec and engine.is_alive:
        return engine
    if engine is not None and engine.is_alive:
        engine.kill()
    vars(kept)["engine"] = None
    engine = EngineProcess(spec)
    engine.greet()
    vars(kept)["engine"] = engine
    return engine


def with_devices(spec: dict[str, Any], gpus: list[str]) -> dict[str, Any]:
    """A `spec` whose process sees `gpus` alone.

    Ray names those of a task in the environment of its worker process, which runs tasks with other GPUs later. Where a
    node lends none to Ray, none is used: tasks that ask for one would wait for it in vain.
    """
    return {**spec, "variables": {**spec["variables"], "CUDA_VISIBLE_DEVICES": ",".join(sorted(gpus))}}


def lent_gpus() -> list[str]:
    """The ids of those that Ray has reserved for this task."""
    import ray

    found: list[str] = ray.get_runtime_context().get_accelerator_ids()["GPU"]
    return found


class Progress:
    """What a task reports to the gateway, through the relay on the head.

    It never waits for Ray: Ray considers a task that waits in Ray's own calls idle, lends its core to the next task,
    and starts a further worker process for that.
    """

    def __init__(self, relay: Any, key: str, node: str) -> None:
        self._relay, self._key, self._node = relay, key, node
        self.updates: list[dict[str, Any]] = []
        self._told = 0
        self._send()  # Says that the task has started, and where.

    def tick(self) -> None:
        """Called several times a second."""
        if len(self.updates) > self._told and time.monotonic() - self._last_sent >= PROGRESS_SECONDS:
            self._send()

    def _send(self) -> None:
        self._last_sent = time.monotonic()
        self._relay.tell.remote((self._key, self._node, self._told, self.updates[self._told :]))
        self._told = len(self.updates)


def run_task(request: dict[str, Any], relay: Any, *values: Any) -> dict[str, Any]:
    """Runs `request["task"]` on `values`, the arrays that `request["arrays"]` names, in that order.

    Returns `{"node": id, "message": the worker's result or error, "arrays": [[ref, bytes], ...], "updates": every
    progress}`, or `{"node", "greeting"}` if this node's engine is not the one that the other nodes have. Raises
    EngineDiedError if the engine process dies; Ray then runs the task once more.
    """
    node = node_id()
    progress = Progress(relay, request["key"], node)
    engine = engine_process(with_devices(request["engine"], lent_gpus()))
    if fingerprint(engine.greeting) != request["fingerprint"]:
        return {"node": node, "greeting": engine.greeting}
    engine.send(request["task"], request["arrays"], values)
    while True:
        line = engine.line(0.25)
        progress.tick()
        if line is None:
            continue
        message = json.loads(line)
        if message["event"] != "progress":
            break
        progress.updates.append(message["update"])
    arrays = [[written["ref"], engine.bytes_of(written["bytes"])] for written in message.pop("arrays")]
    return {"node": node, "message": message, "arrays": arrays, "updates": progress.updates}


def inspect_node(spec: dict[str, Any]) -> dict[str, Any]:
    """`{"node": id, "greeting": {...}}`, or `{"node", "fault": words}` if the engine does not start here."""
    try:
        return {"node": node_id(), "greeting": engine_process(with_devices(spec, lent_gpus())).greeting}
    except EngineDiedError as death:
        return {"node": node_id(), "fault": str(death)}


def node_id() -> str:
    import ray

    found: str = ray.get_runtime_context().get_node_id()
    return found


def fingerprint(greeting: dict[str, Any]) -> str:
    """Of all that decides bytes. Pinned kernels are the same on every processor."""
    machine = dict(greeting["machine"])
    if greeting["kernel_level"] is not None:
        del machine["processor"]
    facts = [greeting[name] for name in ("versions", "threads", "kernel_level", "engine")]
    return hashlib.sha256(json.dumps([*facts, machine], sort_keys=True).encode()).hexdigest()
