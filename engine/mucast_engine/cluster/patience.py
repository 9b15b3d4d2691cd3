"""How long a job waits at its start for the nodes to answer."""

from collections.abc import Callable

from mucast_engine.cluster.node import START_SECONDS

# An inspection starts Python twice and imports the libraries. A node that hangs there says so after START_SECONDS.
FIRST_ANSWER_SECONDS = START_SECONDS + 30.0
# The other nodes have so long after the first answer. Those that take longer join later.
OTHER_ANSWERS_SECONDS = 150.0
# When the log says that the nodes take long.
SLOW_SECONDS = 60.0
LISTED = 5


class InspectionPatience:
    """A busy cluster imports slowly on every node, so the deadline of the others depends on the first answer."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._say, self._clock = say, clock
        self._started = clock()
        self._deadline = self._started + FIRST_ANSWER_SECONDS
        self._has_answer = self._is_told = False

    def note_answer(self) -> None:
        """A node has answered."""
        if not self._has_answer:
            self._deadline = min(self._deadline, self._clock() + OTHER_ANSWERS_SECONDS)
        self._has_answer = True

    def is_over(self, awaited: list[str]) -> bool:
        """Whether the time for the nodes of these names is up. Says once that they take long."""
        now = self._clock()
        if now - self._started > SLOW_SECONDS and not self._is_told:
            self._is_told = True
            names = ", ".join(awaited[:LISTED]) or "the head"
            more = f" and {len(awaited) - LISTED} more" if len(awaited) > LISTED else ""
            self._say(
                f"the engine is still starting on {names}{more}; waiting {self._deadline - now:.0f} s more at most"
            )
        return now >= self._deadline
