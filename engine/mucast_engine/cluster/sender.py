"""Takes tasks to the cluster, one after the other on a thread of its own, with those of their arrays not there yet."""

import contextlib
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from mucast_engine.arrays import ArrayRef, ArrayStore, Message
from mucast_engine.cluster.array_cache import ArrayCache, ArrayKey
from mucast_engine.cluster.requests import TaskRequest
from mucast_engine.cluster.session import Session
from mucast_engine.failure import TaskError

# Ray answers a cancel in milliseconds; a cluster that does not must not keep the others waiting.
CANCELERS = 8


class Sender:
    """Puts one array at a time: this process holds the copies of one at most, and a cancel waits for one at most.

    Ray's client makes the copies: a pickle of the array, and its chunks on their way, about three times its bytes.
    """

    def __init__(self, session: Session, folder: Path, bound: int) -> None:
        """`bound`: bytes of arrays that are kept in the cluster for tasks to come."""
        self._session, self._folder = session, folder
        self._store = ArrayStore(folder)
        self.cache: ArrayCache[Any] = ArrayCache(bound)
        self.putting = 0
        """Bytes of the array that is on its way to the cluster."""
        self._sending = self._threads(1)
        self._canceling = self._threads(CANCELERS)

    @staticmethod
    def _threads(count: int) -> Executor:
        return ThreadPoolExecutor(count)

    def send(
        self,
        message: Message,
        request: TaskRequest,
        cpus: float,
        avoid: list[str],
        *,
        still_wanted: Callable[[], bool],
        claim: Callable[[], bool],
        taken: Callable[[Any], None],
        done: Callable[[Any], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Calls back on other threads: `taken` with Ray's handle and later `done` with the answer, or `failed`.

        Puts no array any more where the task is not `still_wanted`; the cluster gets it only where `claim` allows that.
        """

        def send() -> None:
            try:
                values = []
                for ref in request.arrays:
                    if not still_wanted():
                        return
                    values.append(self._reference(ref))
                if not claim():
                    return
                handle = self._session.run(message, values, cpus, request.gpus, request.memory, avoid)
                taken(handle)
                self._session.watch(handle, done)
            except Exception as error:
                failed(error)

        self._sending.submit(send)

    def cancel(self, handle: Any) -> None:
        def cancel() -> None:
            try:
                self._session.cancel(handle)
            except Exception:  # Silence is what counts, and is waited for with a bound.
                return

        self._canceling.submit(cancel)

    def forget(self, request: TaskRequest) -> None:
        """The arrays of this task are put again when it is next sent."""
        self._sending.submit(lambda: self._drop(request.arrays))

    def forget_all(self) -> None:
        """Every array is put again when it is next needed, and is then at the head alone.

        Where a node that is gone has a copy, Ray asks it for the array as soon as the head, and waits 10 s for it.
        """
        self._sending.submit(self.cache.clear)

    def call(self, act: Callable[[], None]) -> None:
        """Something short that blocks."""
        self._canceling.submit(act)

    def _reference(self, ref: ArrayRef) -> Any:
        key = self._key(ref)
        found = self.cache.get(key)
        if found is None:
            array = self._store.read(ref)
            # Ray would pickle a mapped file into its stream, and each node copy the array out of it.
            self.putting = array.nbytes
            try:
                found = self._session.put(np.asarray(array))
            finally:
                self.putting = 0
            self.cache.add(key, found, array.nbytes)
        return found

    def _drop(self, arrays: list[ArrayRef]) -> None:
        for ref in arrays:
            with contextlib.suppress(OSError, TaskError):  # Who sends it next says that it cannot be read.
                self.cache.drop(self._key(ref))

    def _key(self, ref: ArrayRef) -> ArrayKey:
        try:
            status = (self._folder / ref["ref"]).stat()
        except (OSError, ValueError):
            self._store.read(ref)  # Raises what says so.
            raise
        return ArrayKey(ref["ref"], status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
