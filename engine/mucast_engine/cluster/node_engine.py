"""The engine process of a supervisor on a node: a local worker whose arrays come and go with the messages."""

import json
import mmap
import os
import platform
import time
from pathlib import Path
from typing import IO

import numpy as np

from mucast_engine.arrays import ArrayRef, ArrayStore, Matrix, Message
from mucast_engine.cluster.digest import engine_digest
from mucast_engine.failure import TaskError
from mucast_engine.libraries import import_libraries, kernel_level, library_versions
from mucast_engine.machine import machine_facts, thread_facts
from mucast_engine.worker import answer


class MemoryArrays(ArrayStore):
    """The arrays of one task, by the `ref` that it names them by."""

    def __init__(self) -> None:
        super().__init__(Path("/"))
        self._given: dict[str, Matrix] = {}
        self.written: dict[str, Matrix] = {}

    def take(self, ref: ArrayRef, source: IO[bytes]) -> None:
        """Reads the array's bytes from `source` into pages of their own, aligned as those of a mapped file."""
        size = 8 * int(np.prod(ref["shape"]))
        pages = mmap.mmap(-1, max(size, 1))
        # Every binary file that a process opens has it; its type leaves it out.
        if source.readinto(memoryview(pages)[:size]) != size:  # type: ignore[attr-defined]
            raise EOFError
        values = np.frombuffer(pages, dtype="<f8", count=size // 8).reshape(ref["shape"])
        values.flags.writeable = False
        self._given[ref["ref"]] = values

    def read(self, ref: ArrayRef) -> Matrix:
        if ref["ref"] not in self._given:
            raise TaskError("internal", f"array {ref['ref']!r} did not come with the task")
        return self._given[ref["ref"]]

    def write(self, ref: str, values: Matrix) -> ArrayRef:
        self.written[ref] = np.ascontiguousarray(values, dtype="<f8")
        return {"ref": ref, "dtype": "<f8", "shape": list(values.shape), "order": "C"}

    def hand_over(self, ref: str, values: Matrix) -> ArrayRef:
        """As bytes, however few: the gateway reads what it gets from a node as arrays and holds it to the task."""
        return self.write(ref, values)


def serve(libraries: list[str], stdin: IO[bytes], stdout: int) -> None:
    """Greets once the libraries are imported, then does one task after the other until `stdin` ends.

    A request is a line: the ArrayRefs as JSON, a tab, the task's JSON; then the bytes of the arrays in that order. The
    answer is a line, the event with its `arrays` (`ref`, `bytes`), then their bytes. Progress comes as lines between.
    """
    started = time.perf_counter()
    import_libraries(libraries)
    _send(
        stdout,
        {
            "event": "ready",
            "versions": {"python": platform.python_version(), **library_versions(libraries)},
            "threads": thread_facts(),
            "kernel_level": kernel_level(),
            "machine": machine_facts(libraries),
            "engine": engine_digest(),
            "import_seconds": time.perf_counter() - started,
        },
    )
    for line in stdin:
        arrays_of_task, _, text = line.partition(b"\t")
        store = MemoryArrays()
        for ref in json.loads(arrays_of_task):
            store.take(ref, stdin)
        done = answer(text, store, lambda update: _send(stdout, {"event": "progress", "update": update}))
        written = store.written if done["event"] == "result" else {}
        arrays = [{"ref": ref, "bytes": values.nbytes} for ref, values in written.items()]
        _send(stdout, {**done, "arrays": arrays})
        for values in written.values():
            _write(stdout, values.tobytes())


def _send(descriptor: int, message: Message) -> None:
    _write(descriptor, json.dumps(message, allow_nan=False).encode() + b"\n")


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
