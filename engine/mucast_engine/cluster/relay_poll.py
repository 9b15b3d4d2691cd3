"""Asks the relay on the head what the tasks have told, again and again."""

import threading
import time
from collections.abc import Callable
from typing import Any

from mucast_engine.cluster.muster import Caller
from mucast_engine.cluster.sender import Sender
from mucast_engine.cluster.session import Session

# What the caller gets of progress comes in at most ten batches a second.
POLL_PAUSE_SECONDS = 0.1
POLL_SECONDS = 5.0


class RelayPoll:
    """One question at a time; the next one once `on_told` has taken the answer."""

    def __init__(
        self,
        session: Session,
        sender: Sender,
        loop: Caller,
        on_told: Callable[[Any], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_told` gets the relay's answer, or the exception in its place, on the loop's thread."""
        self._session, self._sender, self._loop = session, sender, loop
        self._on_told, self._clock = on_told, clock
        self._asked = 0.0

    def ask(self) -> None:
        """On another thread: a head that does not answer blocks the question."""
        self._asked = self._clock()
        self._sender.call(self._ask)

    def _ask(self) -> None:
        try:
            self._session.poll(POLL_SECONDS, self._hand_over)
        except Exception as error:
            self._hand_over(error)

    def _hand_over(self, told: Any) -> None:
        self._loop.call(lambda: self._take(told))

    def _take(self, told: Any) -> None:
        self._on_told(told)
        pause = max(0.0, POLL_PAUSE_SECONDS - (self._clock() - self._asked))
        timer = threading.Timer(pause, lambda: self._loop.call(self.ask))
        timer.daemon = True
        timer.start()
