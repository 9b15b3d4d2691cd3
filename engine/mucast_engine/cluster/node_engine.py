"""The engine in a worker process of Ray's: it computes as a worker of one machine does, on arrays in Ray's memory."""

import hashlib
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from mucast_engine.arrays import ArrayRef, ArrayStore, Matrix, Message
from mucast_engine.libraries import import_libraries
from mucast_engine.machine import greeting
from mucast_engine.worker import answer

# Between two reports of a task's progress.
PROGRESS_SECONDS = 0.5
PACKAGE = Path(__file__).resolve().parent.parent


@cache
def greet(libraries: tuple[str, ...]) -> Message:
    """Imports the libraries, and describes all that decides bytes."""
    sys.set_int_max_str_digits(0)  # As in a worker: integers of a config stay exact.
    import_libraries(list(libraries))
    return {**greeting(list(libraries)), "engine": engine_digest()}


def engine_digest(package: Path = PACKAGE) -> str:
    """SHA-256 of the names and bytes of the package's modules."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py"), key=lambda path: path.relative_to(package).as_posix()):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()}\n{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


class TaskArrays(ArrayStore):
    """The arrays that came with a task and those that it writes, by their names; no file.

    Ray maps the values from the node's object store, read-only and aligned to 64 bytes, as a mapped file is.
    """

    def __init__(self, refs: list[ArrayRef], values: Sequence[Matrix]) -> None:
        super().__init__(Path("/"))
        self._values = {ref["ref"]: value for ref, value in zip(refs, values, strict=True)}
        self.written: dict[str, Matrix] = {}

    def read(self, ref: ArrayRef) -> Matrix:
        return self._values[ref["ref"]]

    def write(self, ref: str, values: Matrix) -> ArrayRef:
        self.written[ref] = np.ascontiguousarray(values, dtype="<f8")
        return {"ref": ref, "dtype": "<f8", "shape": list(values.shape), "order": "C"}


def run(
    task: bytes,
    refs: list[ArrayRef],
    values: Sequence[Matrix],
    report: Callable[[int, list[Message]], object],
) -> Message:
    """Returns `{"message": the worker's result or error, "arrays": those written, "updates": all of its progress}`.

    `report` gets progress meanwhile, as the number of the first update and the updates from there on.
    """
    store = TaskArrays(refs, values)
    updates: list[Message] = []
    told, told_at = 0, time.monotonic()

    def progress(update: Message) -> None:
        nonlocal told, told_at
        updates.append(update)
        if time.monotonic() - told_at >= PROGRESS_SECONDS:
            report(told, updates[told:])
            told, told_at = len(updates), time.monotonic()

    message = answer(task, store, progress)
    return {"message": message, "arrays": store.written if message["event"] == "result" else {}, "updates": updates}
