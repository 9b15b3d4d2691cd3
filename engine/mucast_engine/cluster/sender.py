"""Takes tasks to the cluster, one after the other on a thread of its own, with those of their arrays not there yet."""

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mucast_engine.arrays import ArrayRef, ArrayStore, Message
from mucast_engine.cluster.array_cache import ArrayCache, ArrayKey
from mucast_engine.cluster.requests import TaskRequest
from mucast_engine.cluster.session import Session

# Ray answers a cancel in milliseconds; a cluster that does not must not keep the others waiting.
CANCELERS = 8


class Sender:
    """Puts one array at a time, so that this process holds one copy at most, and a cancel waits for one at most."""

    def __init__(self, session: Session, folder: Path, bound: int) -> None:
        """`bound`: bytes of arrays that are kept in the cluster for tasks to come."""
        self._session, self._folder = session, folder
        self._store = ArrayStore(folder)
        self.cache: ArrayCache[Any] = ArrayCache(bound)
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
        taken: Callable[[Any], None],
        done: Callable[[Any], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Calls back on other threads: `taken` with Ray's handle and later `done` with the answer, or `failed`."""

        def send() -> None:
            try:
                if not still_wanted():
                    return
                values = [self._reference(ref) for ref in request.arrays]
                handle = self._session.run(message, values, cpus, request.gpus, avoid)
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

    def call(self, act: Callable[[], None]) -> None:
        """Something short that blocks."""
        self._canceling.submit(act)

    def _reference(self, ref: ArrayRef) -> Any:
        key = self._key(ref)
        found = self.cache.get(key)
        if found is None:
            array = self._store.read(ref)
            found = self._session.put(array)
            self.cache.add(key, found, array.nbytes)
        return found

    def _key(self, ref: ArrayRef) -> ArrayKey:
        try:
            status = (self._folder / ref["ref"]).stat()
        except OSError:
            self._store.read(ref)  # Raises what says so.
            raise
        return ArrayKey(ref["ref"], status.st_ino, status.st_mtime_ns)
