"""How long a wait may take."""

from __future__ import annotations

import time

from .errors import WaitTimeoutError

# httpx and time.sleep take no negative duration, and httpx no duration of 0.
SHORTEST = 0.001


class Deadline:
    """The end of a wait; without seconds, it never comes."""

    def __init__(self, operation_id: str, seconds: float | None) -> None:
        self._operation_id = operation_id
        self._seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def check(self) -> None:
        """Raises WaitTimeoutError once the end has come."""
        if self._end is not None and self._seconds is not None and time.monotonic() >= self._end:
            raise WaitTimeoutError(self._operation_id, self._seconds)

    def cut(self, seconds: float) -> float:
        """At most the seconds that are left."""
        return seconds if self._end is None else max(SHORTEST, min(seconds, self._end - time.monotonic()))
