"""Attempts whose end was asked for and has not been told."""

from collections.abc import Callable
from typing import Any

from mucast_engine.cluster.runs import Attempt

# A cancel can come before the node has the task, and is lost then. The pause doubles with each.
CANCEL_AGAIN_SECONDS = 0.5
MAX_PAUSE_SECONDS = 10.0


class Cancels:
    """All of it on the loop's thread."""

    def __init__(self, cancel: Callable[[Any], None], clock: Callable[[], float]) -> None:
        """`cancel` gets Ray's handle and does not block."""
        self._cancel, self._clock = cancel, clock
        self._open: dict[str, tuple[Attempt, float, float]] = {}
        """By key: when the next cancel is due, and the pause after it."""

    def add(self, attempt: Attempt) -> None:
        """Cancels it once the cluster has it, and again until its end is told: the cluster tells that of every task."""
        self._open[attempt.key] = (attempt, self._clock(), CANCEL_AGAIN_SECONDS)
        self.tick()

    def remove(self, attempt: Attempt) -> None:
        """Its end was told."""
        self._open.pop(attempt.key, None)

    def tick(self) -> None:
        """Repeats what is due; called also when the cluster has taken an attempt."""
        now = self._clock()
        for key, (attempt, due, pause) in self._open.items():
            if attempt.handle is not None and now >= due:
                self._cancel(attempt.handle)
                self._open[key] = (attempt, now + pause, min(2 * pause, MAX_PAUSE_SECONDS))
