"""Whether the gateway hears from the cluster at all: where it does not, no node's silence says anything."""

from collections.abc import Callable

from mucast_engine.cluster.fault import ConnectionLostError

# The relay answers each question after 5 s at the latest.
DEAF_SECONDS = 10.0
# The connection counts as lost after so long without an answer, and what an array takes that is being put: Ray's
# client sends a question behind the whole of it.
LOST_SECONDS = 35.0
SLOWEST_BYTES_PER_SECOND = 1e6


class Hearing:
    """All of it on the loop's thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answered = clock()
        self._allowance = 0.0

    @property
    def is_deaf(self) -> bool:
        return self._clock() - self._answered > DEAF_SECONDS

    def note_answer(self) -> bool:
        """The relay has answered, or is asked for the first time. Returns whether nothing was heard for a while."""
        was_deaf = self.is_deaf
        self._answered, self._allowance = self._clock(), 0.0
        return was_deaf

    def check(self, putting: int) -> None:
        """Raises ConnectionLostError where no answer can come any more; `putting`: bytes of the array on its way."""
        self._allowance = max(self._allowance, putting / SLOWEST_BYTES_PER_SECOND)
        silence = self._clock() - self._answered
        if silence > LOST_SECONDS + self._allowance:
            raise ConnectionLostError(f"the head has not said how its tasks are for {silence:.0f} s")
