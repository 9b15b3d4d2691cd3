"""Sends tasks to the cluster, one after the other on a thread of its own, with those of their arrays not there yet."""

import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from mucast_engine.arrays import ArrayRef, ArrayStore, Message
from mucast_engine.cluster.requests import TaskRequest
from mucast_engine.cluster.session import Session
from mucast_engine.failure import TaskError

# Ray answers a cancel in milliseconds; a cluster that does not must not delay the others.
CANCEL_THREADS = 8
# A cancel that comes before a node has the task may have no effect, so it is repeated.
CANCEL_AGAIN_SECONDS = 1.0

# A file as it is now: one that is written anew under the same name is another array.
ArrayKey = tuple[str, int, int, int]


class Sender:
    """Puts one array at a time: Ray Client makes about three copies of it, and a cancel waits for one array at most."""

    def __init__(self, session: Session, folder: Path, bound: int) -> None:
        """`bound`: bytes of arrays that are kept in the cluster for later tasks.

        The object store of the head has every array as long as a reference to it lives, whichever nodes are lost.
        """
        self._session, self._folder, self._bound = session, folder, bound
        self._store = ArrayStore(folder)
        self._kept: OrderedDict[ArrayKey, tuple[Any, int]] = OrderedDict()
        self._held = 0
        self._sending = ThreadPoolExecutor(1)
        self._canceling = ThreadPoolExecutor(CANCEL_THREADS)
        self._canceled: dict[str, tuple[Any, float]] = {}
        """Ray's references of tasks whose end is asked for, and when they were last cancelled, by key."""

    def send(
        self,
        message: Message,
        request: TaskRequest,
        options: dict[str, Any],
        node: str | None,
        *,
        is_wanted: Callable[[], bool],
        taken: Callable[[Any], None],
        done: Callable[[Any], None],
    ) -> None:
        """Calls back on other threads: `taken` with Ray's reference, and `done` with the answer or an exception.

        A task that is no longer wanted before the cluster has it gets only `done`, with None.
        """

        def act() -> None:
            try:
                values = []
                for ref in request.arrays:
                    if not is_wanted():
                        break
                    values.append(self._reference(ref))
                if not is_wanted():
                    done(None)
                    return
                task = self._session.run(message, values, options, node)
                taken(task)
                self._session.watch(task, done)
            except Exception as error:
                done(error)

        self._sending.submit(act)

    def cancel(self, key: str, task: Any) -> None:
        """Repeated by `tick` until `forget` is called, which has to be when the task's answer comes."""
        self._canceled[key] = (task, time.monotonic())
        self._canceling.submit(self._cancel, task)

    def forget(self, key: str) -> None:
        self._canceled.pop(key, None)

    def tick(self) -> None:
        now = time.monotonic()
        for key, (task, at) in list(self._canceled.items()):
            if now - at >= CANCEL_AGAIN_SECONDS:
                self.cancel(key, task)

    def _cancel(self, task: Any) -> None:
        try:
            self._session.cancel(task)
        except Exception:  # It is repeated, and a lost connection is noticed elsewhere.
            return

    def _reference(self, ref: ArrayRef) -> Any:
        key = self._key(ref)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key][0]
        array = self._store.read(ref)
        # Ray would pickle a mapped file into its stream, and each node would copy the array out of it.
        found = self._session.put(np.asarray(array))
        self._kept[key] = (found, array.nbytes)
        self._held += array.nbytes
        while self._held > self._bound and len(self._kept) > 1:
            _, (_, freed) = self._kept.popitem(last=False)  # Tasks that use it keep it.
            self._held -= freed
        return found

    def _key(self, ref: ArrayRef) -> ArrayKey:
        try:
            status = (self._folder / ref["ref"]).stat()
        except (OSError, ValueError):
            self._store.read(ref)  # Raises an error that names the file.
            raise TaskError("internal", "an array cannot be read") from None
        return (ref["ref"], status.st_ino, status.st_mtime_ns, status.st_size)
