"""The nodes of a session: inspected before the first task, and watched from then on."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from mucast_engine.arrays import Message
from mucast_engine.cluster.agreement import Greeting, agreed, differences_from, in_words
from mucast_engine.cluster.answers import read_inspection, was_raised_on_node
from mucast_engine.cluster.fault import ConnectionLostError, unavailable
from mucast_engine.cluster.node import fingerprint
from mucast_engine.cluster.nodes import Membership, Node, read_nodes
from mucast_engine.cluster.patience import FIRST_ANSWER_SECONDS, InspectionPatience
from mucast_engine.cluster.runs import DELAYED_SECONDS, PLACEMENT_SECONDS
from mucast_engine.cluster.session import Session, lost

# Seconds between two looks at Ray's list of nodes: mostly, and while it is to be known whether a node was lost.
LOOK_SECONDS = 1.0
# The head, and with it the cluster, counts as lost after so long without an answer.
CONTACT_SECONDS = 30.0
# A node that nothing answers for so long, not even with a refusal, is cut off or has no power. A shorter cut costs
# nothing.
UNREACHED_SECONDS = 15.0
# A node that did not answer, or could not start the engine, is asked again after so long.
AGAIN_SECONDS = 20.0
# The pause doubles so often where the engine does not start.
MAX_DOUBLINGS = 4
NODE_LOST = "the node was lost"
NO_ANSWER = "it does not answer"
# In place of a node's id.
RELAY = "relay"
NO_RELAY = "the head of the cluster cannot run what tells the progress of tasks"


class Caller(Protocol):
    """Hands an act to the thread that owns the state."""

    def call(self, act: Callable[[], None]) -> None: ...


class Muster:
    """Which nodes there are and which of them may take tasks."""

    def __init__(
        self,
        session: Session,
        loop: Caller,
        spec: Message,
        versions: dict[str, str],
        engine: str,
        expected: str | None = None,
    ) -> None:
        """`spec` is what nodes' engine processes are started with; `versions` and `engine` are this machine's.

        `expected` is the fingerprint of the nodes that the job began on, where this is not its first session.
        """
        self._session, self._loop, self.spec = session, loop, spec
        self._versions, self._engine, self._expected = versions, engine, expected
        self.membership = Membership()
        self.shared: Greeting = {}
        """The greeting that every member would give."""
        self.head = ""
        self._asked: dict[str, float] = {}
        """When each node was last asked, by its id."""
        self._inspected: set[str] = set()
        """The ids of nodes whose inspection has not ended; none is asked twice at a time."""
        self._unreached: dict[str, float] = {}
        self._faults: dict[str, int] = {}
        """How often in a row the engine of a node did not start, by its id."""
        self._contact = time.monotonic()
        self._on_change: Callable[[list[str], list[Message]], None] = lambda added, lost: None
        self._on_look: Callable[[list[str]], None] = lambda gone: None

    def gather(self, say: Callable[[str], None]) -> None:
        """Inspects every node at once, as soon as one has a core. Blocks, and has `say` tell when it waits.

        Raises ClusterError where they differ, or where none can take tasks in time; ConnectionLostError.
        """
        started = time.monotonic()
        while True:
            self.membership.left_out.clear()
            asked = self._await_cores(say)
            answers = self._answers_of(asked, say)
            there = self._still_there(asked)
            answers = {node.id: answers[node.id] for node in there if node.id in answers}
            if self._expected is None:
                self._begin_with(there, answers)
                return
            self._go_on_with(there, answers, self._expected)
            if self.membership.slots > 0:
                return
            if time.monotonic() - started > PLACEMENT_SECONDS:
                raise unavailable(f"no node is as those were that the job began on: {self._left_out_in_words()}")
            time.sleep(LOOK_SECONDS)

    def _begin_with(self, asked: list[Node], answers: dict[str, Message]) -> None:
        """All that answer have to agree, so that the user learns at once what is wrong with one."""
        if not asked:
            raise unavailable("the cluster has lost all its nodes with a core for tasks")
        names = {id: self.membership.name_of(id) for id in answers}
        faults = [f"{names[id]}: {answer['fault']}" for id, answer in answers.items() if "fault" in answer]
        if faults:
            raise unavailable(f"the engine does not start on a node of the cluster: {'; '.join(faults[:5])}")
        if not answers:
            nodes = [node.name for node in asked[:5]]
            raise unavailable(f"no answer within {FIRST_ANSWER_SECONDS:.0f} s from {', '.join(nodes)}", nodes=nodes)
        greetings = {names[id]: answer["greeting"] for id, answer in answers.items()}
        self.shared = agreed(greetings, self._versions, self._engine)
        for id in answers:
            self.membership.admit(id)
        self._leave_out_silent(asked, answers)

    def _go_on_with(self, asked: list[Node], answers: dict[str, Message], expected: str) -> None:
        """What the job has done is worth more than a node: all that are not as its nodes were get no task."""
        greetings = [answer["greeting"] for answer in answers.values() if "greeting" in answer]
        self.shared = next((one for one in greetings if fingerprint(one) == expected), self.shared)
        for id, answer in answers.items():
            if "fault" in answer:
                self.membership.leave_out(id, f"the engine does not start on it: {answer['fault']}")
            elif fingerprint(answer["greeting"]) == expected:
                self.membership.admit(id)
            else:
                self.membership.leave_out(id, self._difference(id, answer["greeting"]))
        self._leave_out_silent(asked, answers)

    def _difference(self, id: str, greeting: Greeting) -> str:
        if not self.shared:
            return "it is not as the nodes were that the job began on"
        name = self.membership.name_of(id)
        return f"it would not give the same bytes: {in_words(differences_from(name, greeting, self.shared))}"

    def _leave_out_silent(self, asked: list[Node], answers: dict[str, Message]) -> None:
        for node in asked:
            if node.id not in answers:
                self.membership.leave_out(node.id, NO_ANSWER)

    def _left_out_in_words(self) -> str:
        return "; ".join(f"{one['name']}: {one['reason']}" for one in self._left_out()[:5])

    def _left_out(self) -> list[Message]:
        return [{"name": self.membership.name_of(id), "reason": why} for id, why in self.membership.left_out.items()]

    def _await_cores(self, say: Callable[[str], None]) -> list[Node]:
        """The nodes with cores. Where none has one, an autoscaler is shown that one is needed, and gets its time."""
        started, is_told = time.monotonic(), False
        demand: Any = None
        while True:
            nodes = self._listed()
            self.head = next((node.id for node in nodes.values() if node.is_head), "")
            self.membership.update(nodes)
            found = [node for node in nodes.values() if node.slots > 0]
            if found:
                return found
            demand = demand or self._session.demand()
            waited = time.monotonic() - started
            if waited > PLACEMENT_SECONDS:
                raise unavailable(
                    f"no node of the cluster has a core for tasks, for {PLACEMENT_SECONDS:.0f} s; it has "
                    f"{_described(list(nodes.values()))}",
                    cpus=1,
                )
            if waited > DELAYED_SECONDS and not is_told:
                is_told = True
                say(f"no node of the cluster has a core for tasks yet; waiting {PLACEMENT_SECONDS:.0f} s at most")
            time.sleep(LOOK_SECONDS)

    def _listed(self) -> dict[str, Node]:
        try:
            return read_nodes(self._session.nodes())
        except ConnectionError as error:
            raise lost(error) from None

    def _still_there(self, nodes: list[Node]) -> list[Node]:
        """Those that have not turned out to be lost: for a while Ray lists a node that is gone."""
        alive = self._listed()
        self.membership.update(alive)
        return [node for node in nodes if node.id in alive and node.id not in self.membership.left_out]

    def _answers_of(self, nodes: list[Node], say: Callable[[str], None]) -> dict[str, Message]:
        """By the nodes' ids; of a node that the head finds gone none is waited for."""
        told: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._session.start_relay(self.head)

        def keep(id: str) -> Callable[[Any], None]:
            return lambda answer: told.put((id, answer))

        self._session.reach(_places(nodes), keep(RELAY))
        for node in nodes:
            self._session.inspect(node.id, self.spec, keep(node.id))
        answers: dict[str, Message] = {}
        awaited = {RELAY, *(node.id for node in nodes)}
        patience = InspectionPatience(say, time.monotonic)
        while awaited and not patience.is_over([node.name for node in nodes if node.id in awaited]):
            try:
                id, answer = told.get(timeout=1.0)
            except queue.Empty:
                continue
            if isinstance(answer, ConnectionError) and not was_raised_on_node(answer):
                raise lost(answer)
            awaited.discard(id)
            if id != RELAY:
                answers[id] = read_inspection(answer)
                patience.note_answer()
            elif isinstance(answer, dict):
                awaited -= self._leave_out_refusing(answer)
            else:
                raise unavailable(NO_RELAY)
        if RELAY in awaited:
            raise unavailable(NO_RELAY)
        return answers

    def _leave_out_refusing(self, reached: dict[str, bool | None]) -> set[str]:
        gone = {id for id, takes in reached.items() if takes is False}
        for id in gone:
            self.membership.leave_out(id, NODE_LOST)
        return gone

    def watch(
        self, on_change: Callable[[list[str], list[Message]], None], on_look: Callable[[list[str]], None]
    ) -> None:
        """From now on looks every second at Ray's list of the nodes, and whether the head reaches each.

        `on_change` gets the names of nodes that are new members, and of those lost with the reason; `on_look` the ids
        of those that are gone.
        """
        self.tell(on_change, on_look)
        if left_out := self._left_out():
            on_change([], left_out)
        threading.Thread(target=self._look_for_ever, daemon=True).start()

    def tell(self, on_change: Callable[[list[str], list[Message]], None], on_look: Callable[[list[str]], None]) -> None:
        """Whom `watch` tells."""
        self._on_change, self._on_look = on_change, on_look

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

    def lose(self, id: str, why: str) -> None:
        """The node is gone, or cut off, though Ray may still count on it."""
        self.leave_out(id, why)
        self._on_look([id])

    def refuse(self, id: str, greeting: Greeting) -> None:
        """A node whose engine process is not that of the others."""
        self.leave_out(id, self._difference(id, greeting))

    def _look_for_ever(self) -> None:
        while True:
            try:
                rows = self._session.nodes()
            except Exception as error:  # Ray raises what it likes; silence is told by `tick`.
                if isinstance(error, ConnectionError):
                    self._loop.call(partial(_raise, lost(error)))
                    return
            else:
                self._loop.call(partial(self.take, rows))
                self._reach(rows)
            time.sleep(LOOK_SECONDS)

    def _reach(self, rows: list[Message]) -> None:
        places = _places([node for node in read_nodes(rows).values() if node.slots > 0])
        # Where the relay is lost, its poll says so.
        with contextlib.suppress(Exception):
            self._session.reach(places, lambda found: self._loop.call(partial(self.note_reached, found)))

    def note_reached(self, found: Any) -> None:
        """What the head found at each node, or an exception in its place."""
        now = time.monotonic()
        members = {node.id for node in self.membership.members}
        for id, takes in found.items() if isinstance(found, dict) else ():
            if takes is None:
                since = self._unreached.setdefault(id, now)
                if id in members and now - since > UNREACHED_SECONDS:
                    self.lose(id, NO_ANSWER)
                continue
            self._unreached.pop(id, None)
            if id in members and not takes:
                self.lose(id, NODE_LOST)

    def take(self, rows: list[Message]) -> None:
        """Ray's list of the nodes: those that are new are inspected, and again those that are no members."""
        self.note_contact()
        new, gone = self.membership.update(read_nodes(rows))
        if gone:
            self._on_change([], [{"name": self.membership.name_of(id), "reason": NODE_LOST} for id in gone])
        self._on_look(gone)
        for known in (self._asked, self._unreached, self._faults):
            for id in known.keys() - self.membership.nodes.keys():
                del known[id]
        self._inspected &= self.membership.nodes.keys()
        now = time.monotonic()
        again = [id for id in self.membership.avoid if now - self._asked.get(id, 0.0) > self._pause(id)]
        for id in {node.id for node in new} | set(again):
            if self.membership.nodes[id].slots > 0 and id not in self._inspected:
                self._ask(id)

    def _pause(self, id: str) -> float:
        """Seconds until it is asked again: an engine that does not start mostly does not the next time either."""
        return AGAIN_SECONDS * float(2 ** min(self._faults.get(id, 0), MAX_DOUBLINGS))

    def _ask(self, id: str) -> None:
        self._asked[id] = time.monotonic()
        self._inspected.add(id)

        def end(answer: Any) -> None:
            self._loop.call(partial(self._judge, id, answer))

        def ask() -> None:
            try:
                self._session.inspect(id, self.spec, end)
            except Exception as error:  # Ray raises what it likes; a lost connection is told by `_look_for_ever`.
                end(error)

        threading.Thread(target=ask, daemon=True).start()

    def _judge(self, id: str, answer: Any) -> None:
        self._inspected.discard(id)
        if id not in self.membership.nodes:
            return
        name, read = self.membership.name_of(id), read_inspection(answer)
        if "fault" in read:
            self._faults[id] = self._faults.get(id, 0) + 1
            if self._faults[id] == 1:
                self._refuse_late(id, f"the engine does not start on it: {read['fault']}")
            return
        self._faults.pop(id, None)
        differences = differences_from(name, read["greeting"], self.shared)
        if differences:
            self._refuse_late(id, f"it would not give the same bytes: {in_words(differences)}")
        elif self.membership.admit(id):
            self._on_change([name], [])

    def _refuse_late(self, id: str, why: str) -> None:
        if self.membership.left_out.get(id) != why:
            self.membership.leave_out(id, why)
            self._on_change([], [{"name": self.membership.name_of(id), "reason": why}])


def _described(nodes: list[Node]) -> str:
    named = [f"{node.name} with {node.cpus:g} cores" for node in nodes]
    return ", ".join(named[:5]) or "no node"


def _places(nodes: list[Node]) -> dict[str, tuple[str, int]]:
    return {node.id: (node.address, node.port) for node in nodes}


def _raise(error: Exception) -> None:
    raise error
