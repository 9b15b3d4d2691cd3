"""The nodes of a session: inspected before the first task, and watched from then on."""

import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from mucast_engine.arrays import Message
from mucast_engine.cluster.agreement import Greeting, agreed, differences_from, in_words
from mucast_engine.cluster.fault import ConnectionLostError, unavailable
from mucast_engine.cluster.nodes import Membership, Node, read_nodes
from mucast_engine.cluster.session import INSPECTION_SECONDS, Session, lost

# Seconds between two looks at Ray's list of nodes: mostly, and while it is to be known whether a node was lost.
LOOK_SECONDS = 1.0
# The head, and with it the cluster, counts as lost after so long without an answer.
CONTACT_SECONDS = 30.0
# A node that did not answer, or could not start the engine, is asked again after so long.
AGAIN_SECONDS = 20.0
NODE_LOST = "the node was lost"
# In place of a node's id.
RELAY = "relay"


class Caller(Protocol):
    """Hands an act to the thread that owns the state."""

    def call(self, act: Callable[[], None]) -> None: ...


class Muster:
    """Which nodes there are and which of them may take tasks."""

    def __init__(self, session: Session, loop: Caller, spec: Message, versions: dict[str, str], engine: str) -> None:
        """`spec` is what nodes' engine processes are started with; `versions` and `engine` are this machine's."""
        self._session, self._loop, self.spec = session, loop, spec
        self._versions, self._engine = versions, engine
        self.membership = Membership()
        self.shared: Greeting = {}
        """The greeting that every member would give."""
        self.head = ""
        self._asked: dict[str, float] = {}
        self._contact = time.monotonic()
        self._on_change: Callable[[list[str], list[Message]], None] = lambda added, lost: None
        self._on_look: Callable[[list[str]], None] = lambda gone: None

    def gather(self) -> None:
        """Inspects every node at once. Blocks; raises ClusterError where they differ or none has a core."""
        nodes = read_nodes(self._session.nodes())
        self.head = next((node.id for node in nodes.values() if node.is_head), "")
        self.membership.update(nodes)
        to_ask = [node for node in nodes.values() if node.slots > 0]
        if not to_ask:
            raise unavailable("the cluster has no node with a core for tasks")
        answers = self._answers_of(to_ask)
        names = {id: self.membership.name_of(id) for id in answers}
        faults = [f"{names[id]}: {answer['fault']}" for id, answer in answers.items() if "fault" in answer]
        if faults:
            raise unavailable(f"the engine does not start on a node of the cluster: {'; '.join(faults[:5])}")
        silent = [node.name for node in to_ask if node.id not in answers]
        if silent:
            raise unavailable(
                f"no answer within {INSPECTION_SECONDS:.0f} s from {', '.join(silent[:5])}", nodes=silent[:5]
            )
        greetings = {names[id]: answer["greeting"] for id, answer in answers.items()}
        self.shared = agreed(greetings, self._versions, self._engine)
        for id in answers:
            self.membership.admit(id)

    def _answers_of(self, nodes: list[Node]) -> dict[str, Message]:
        told: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._session.start_relay(self.head)

        def keep(id: str) -> Callable[[Any], None]:
            return lambda answer: told.put((id, answer))

        self._session.poll(0.0, keep(RELAY))
        for node in nodes:
            self._session.inspect(node.id, self.spec, keep(node.id))
        answers: dict[str, Message] = {}
        deadline = time.monotonic() + INSPECTION_SECONDS
        while len(answers) <= len(nodes) and time.monotonic() < deadline:
            try:
                id, answer = told.get(timeout=1.0)
            except queue.Empty:
                continue
            if isinstance(answer, ConnectionError):
                raise lost(answer)
            answers[id] = {"fault": " ".join(str(answer).split())[:300]} if isinstance(answer, Exception) else answer
        if isinstance(answers.pop(RELAY, {}), dict):
            raise unavailable("the head of the cluster cannot run what tells the progress of tasks")
        return answers

    def watch(
        self, on_change: Callable[[list[str], list[Message]], None], on_look: Callable[[list[str]], None]
    ) -> None:
        """From now on looks at the nodes every second.

        `on_change` gets the names of nodes that are new members, and of those lost with the reason; `on_look` after
        every look the ids of those that are gone.
        """
        self._on_change, self._on_look = on_change, on_look
        threading.Thread(target=self._look_for_ever, daemon=True).start()

    def note_contact(self) -> None:
        self._contact = time.monotonic()

    def tick(self) -> None:
        """Raises ConnectionLostError where the head has been silent too long."""
        silence = time.monotonic() - self._contact
        if silence > CONTACT_SECONDS:
            raise ConnectionLostError(f"the cluster has not answered for {silence:.0f} s")

    def leave_out(self, id: str, why: str) -> None:
        """No task goes to this node any more, unless it answers an inspection later."""
        self._asked[id] = time.monotonic()
        if self.membership.leave_out(id, why):
            self._on_change([], [{"name": self.membership.name_of(id), "reason": why}])

    def refuse(self, id: str, greeting: Greeting) -> None:
        """A node whose engine process is not that of the others."""
        name = self.membership.name_of(id)
        self.leave_out(
            id, f"it would not give the same bytes: {in_words(differences_from(name, greeting, self.shared))}"
        )

    def _look_for_ever(self) -> None:
        while True:
            try:
                rows = self._session.nodes()
            except Exception as error:  # Ray raises what it likes; silence is told by `tick`.
                if isinstance(error, ConnectionError):
                    self._loop.call(partial(_raise, lost(error)))
                    return
            else:
                self._loop.call(partial(self._take, rows))
            time.sleep(LOOK_SECONDS)

    def _take(self, rows: list[Message]) -> None:
        self.note_contact()
        new, gone = self.membership.update(read_nodes(rows))
        if gone:
            self._on_change([], [{"name": self.membership.name_of(id), "reason": NODE_LOST} for id in gone])
        self._on_look(gone)
        now = time.monotonic()
        again = [id for id in self.membership.avoid if now - self._asked.get(id, 0.0) > AGAIN_SECONDS]
        for id in {node.id for node in new} | set(again):
            if self.membership.nodes[id].slots > 0:
                self._ask(id)

    def _ask(self, id: str) -> None:
        self._asked[id] = time.monotonic()

        def ask() -> None:
            self._session.inspect(id, self.spec, lambda answer: self._loop.call(lambda: self._judge(id, answer)))

        threading.Thread(target=ask, daemon=True).start()

    def _judge(self, id: str, answer: Any) -> None:
        if isinstance(answer, Exception) or "fault" in answer:
            return  # It is asked again.
        name = self.membership.name_of(id)
        differences = differences_from(name, answer["greeting"], self.shared)
        if differences:
            why = f"it would not give the same bytes: {in_words(differences)}"
            if self.membership.left_out.get(id) != why:
                self.membership.leave_out(id, why)
                self._on_change([], [{"name": name, "reason": why}])
        elif self.membership.admit(id):
            self._on_change([name], [])


def _raise(error: Exception) -> None:
    raise error
