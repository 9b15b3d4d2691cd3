"""A worker: reads one task line after the other from its socket, and answers each with one result or one error."""

import json
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.failure import TaskError, sentence_of, unknown
from mucast_engine.fit_predict import fit_predict
from mucast_engine.trial import trial

# The kinds of tasks; the caller's protocol has the same.
TaskKind = Literal["fit_predict", "trial", "device", "train_network", "train_stack", "train_joint"]


def serve(connection: socket.socket, folder: Path) -> None:
    """Works until the other end of `connection` is closed. A request is its id, a tab, and the task's JSON."""
    store = ArrayStore(folder)
    with connection.makefile("rb") as requests:
        for line in requests:
            number, _, text = line.partition(b"\t")
            _work(int(number), text, store, connection)


# Progress of small fits travels together, and with the answer, because each message wakes the worker, the host and the
# caller. The progress of an epoch is sent at once: the next one may take minutes.
TELL_SECONDS = 0.05


def _work(number: int, text: bytes, store: ArrayStore, connection: socket.socket) -> None:
    untold = bytearray()
    told_at = time.monotonic()

    def progress(update: Message) -> None:
        nonlocal told_at
        untold.extend(_line({"id": number, "event": "progress", **update}))
        if "fit" not in update or time.monotonic() - told_at >= TELL_SECONDS:
            connection.sendall(untold)
            untold.clear()
            told_at = time.monotonic()

    done = _line({"id": number, **answer(text, store, progress)})
    connection.sendall(untold + done)


def answer(text: bytes, store: ArrayStore, progress: Callable[[Message], None]) -> Message:
    """The `result` event of the task in `text`, or the `error` event that says why there is none; never raises."""
    try:
        return {"event": "result", "result": _run(json.loads(text), store, progress)}
    except TaskError as error:
        return {"event": "error", "code": error.code, "message": error.message, "data": error.data}
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        return {"event": "error", "code": "internal", "message": sentence_of(error), "data": {}}


def _run(task: Message, store: ArrayStore, progress: Callable[[Message], None]) -> Message:
    kind: TaskKind = task["task"]
    match kind:
        case "fit_predict":
            return fit_predict(task, store, progress)
        case "trial":
            return trial(task)
        case "device" | "train_network" | "train_stack" | "train_joint":
            from mucast_engine.networks.tasks import run_network_task

            return run_network_task(task, store, progress)
        case _:
            raise unknown("task", kind)


def _line(message: Message) -> bytes:
    return json.dumps(message, allow_nan=False).encode() + b"\n"
