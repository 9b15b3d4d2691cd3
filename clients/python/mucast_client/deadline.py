"""How long a call may take, with all its requests and pauses."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import ContextVar, copy_context
from threading import Thread
from typing import TypeVar

from .errors import WaitTimeoutError

# httpx and time.sleep take no negative duration, and httpx no duration of 0.
SHORTEST = 0.001
T = TypeVar("T")


class Deadline:
    """The end of a call; without seconds, it never comes."""

    def __init__(self, seconds: float | None, operation_id: str | None = None) -> None:
        self._seconds = math.inf if seconds is None else seconds
        self._end = time.monotonic() + self._seconds
        self.operation_id = operation_id

    def check(self) -> None:
        """Raises WaitTimeoutError once the end has come."""
        if time.monotonic() >= self._end:
            raise WaitTimeoutError(self.operation_id, self._seconds)

    def cut(self, seconds: float) -> float:
        """At most the seconds that are left."""
        return max(SHORTEST, min(seconds, self._end - time.monotonic()))

    def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, in a thread: nothing else bounds a look-up of a name, or headers that drip."""
        if self._end == math.inf:
            return work()
        future: Future[T] = Future()

        def settle() -> None:
            DEADLINE.set(self)
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)

        Thread(target=copy_context().run, args=(settle,), daemon=True).start()
        try:
            if not wait([future], self.cut(self._seconds)).done:
                raise WaitTimeoutError(self.operation_id, self._seconds)
            return future.result()
        finally:
            # Also after an interrupt, the thread makes no further request.
            self._end = -math.inf


# Of the call that the present thread works for.
NEVER = Deadline(None)
DEADLINE: ContextVar[Deadline] = ContextVar("DEADLINE", default=NEVER)
