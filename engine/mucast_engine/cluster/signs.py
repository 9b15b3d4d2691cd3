"""When each node has last shown that it answers, and who is asked for a sign because a task waits."""

from collections.abc import Callable
from functools import partial

# A node is not asked again before that.
ASK_AGAIN_SECONDS = 10.0


class Signs:
    """All of it on the loop's thread."""

    def __init__(self, ask: Callable[[str, Callable[[bool], None]], None], clock: Callable[[], float]) -> None:
        """`ask` has a node run something that takes no core, and tells on the loop whether it did."""
        self._ask, self._clock = ask, clock
        self._seen: dict[str, float] = {}
        self._asked: dict[str, float] = {}

    def note(self, node: str) -> None:
        """It has told something, by a task or an answer."""
        self._seen[node] = self._clock()

    def ask(self, nodes: list[str]) -> None:
        """Those that have told nothing for a while, one question at a time each."""
        now = self._clock()
        for node in nodes:
            recently = max(self._seen.get(node, -ASK_AGAIN_SECONDS), self._asked.get(node, -ASK_AGAIN_SECONDS))
            if now - recently >= ASK_AGAIN_SECONDS:
                self._asked[node] = now
                self._ask(node, partial(self._on_answer, node))

    def silent(self, nodes: list[str], since: float) -> list[str]:
        """Those that have told nothing after that."""
        return [node for node in nodes if self._seen.get(node, since) <= since]

    def _on_answer(self, node: str, answered: bool) -> None:
        if answered:
            self.note(node)
