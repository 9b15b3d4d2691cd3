"""Attempts that ended without an answer and a reason, until it is known whether their nodes were lost with them."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from mucast_engine.cluster.muster import NODE_LOST, Muster
from mucast_engine.cluster.runs import Attempt

# How long after an attempt's death the head may take to say whether its node was lost.
VERDICT_SECONDS = 2.0
# How long what an attempt told before its death, and with it the name of its node, may be on its way.
UNTOLD_SECONDS = 1.0


class Death(NamedTuple):
    """The last attempt at a slot's task, which ended at `at`."""

    worker: int
    attempt: Attempt
    at: float


class Deaths:
    """All of it on the loop's thread."""

    def __init__(
        self,
        muster: Muster,
        probe: Callable[[str, Callable[[bool], None]], None],
        end_slot: Callable[[int, str | None, str], None],
        clock: Callable[[], float],
    ) -> None:
        """`probe` asks the head whether the node of that id takes connections, and answers on the loop.

        `end_slot` gets the slot, the id of the node if it is known, and the reason.
        """
        self._muster, self._probe, self._end_slot, self._clock = muster, probe, end_slot, clock
        self._open: list[Death] = []

    def add(self, worker: int, attempt: Attempt) -> None:
        self._open.append(Death(worker, attempt, self._clock()))
        if attempt.node is not None:
            self._ask(attempt.node)

    def drop(self, worker: int) -> None:
        """The slot has ended."""
        self._open = [death for death in self._open if death.worker != worker]

    def hear(self, key: str, node: str) -> None:
        """What an attempt told before it died may come after its death, and be the first that names its node."""
        for death in self._open:
            if death.attempt.key == key and death.attempt.node is None:
                death.attempt.hear(node, self._clock())
                self._ask(node)

    def settle(self, known: str | None = None) -> None:
        """Ends the slots of those whose nodes are lost, or known to live; after a while those of the others.

        `known`: the id of a node of which the head has just said whether it takes connections.
        """
        now, membership = self._clock(), self._muster.membership
        for death in self._open[:]:
            node = death.attempt.node
            is_lost = node is not None and node not in {member.id for member in membership.members}
            waits = UNTOLD_SECONDS if node is None else VERDICT_SECONDS
            if is_lost or (node is not None and node == known) or now - death.at > waits:
                lost_words = f"the node {membership.name_of(node or '')} was lost"
                self._end_slot(death.worker, node, lost_words if is_lost else "its process was killed")

    def _ask(self, node: str) -> None:
        self._probe(node, partial(self._on_verdict, node))

    def _on_verdict(self, node: str, takes_connections: bool) -> None:
        is_member = any(member.id == node for member in self._muster.membership.members)
        if is_member and not takes_connections:  # Each death on a node has the head asked about it.
            self._muster.lose(node, NODE_LOST)
        self.settle(known=node)
