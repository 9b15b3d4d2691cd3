"""Which nodes of a cluster may get tasks: all are inspected before the first task, and those that join later too."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from typing import Any, Protocol

from mucast_engine.arrays import Message
from mucast_engine.cluster.agreement import Greeting, agreed, differences_from, in_words
from mucast_engine.cluster.answers import read_inspection, was_raised_on_node
from mucast_engine.cluster.fault import ConnectionLostError, unavailable
from mucast_engine.cluster.node import START_SECONDS, fingerprint
from mucast_engine.cluster.nodes import Membership, Node, read_nodes
from mucast_engine.cluster.session import Session, answer_of, lost

# Seconds between two reads of Ray's list of nodes.
LOOK_SECONDS = 1.0
# The head, and with it the cluster, counts as lost after so long without an answer.
CONTACT_SECONDS = 30.0
# A node that was excluded is inspected again after so long.
AGAIN_SECONDS = 60.0
# How long a job waits for a node that can run its tasks, and when the log says that it waits.
PLACEMENT_SECONDS = 300.0
DELAYED_SECONDS = 10.0
# An inspection starts Python twice and imports the libraries. A node that hangs there reports that after START_SECONDS.
FIRST_ANSWER_SECONDS = START_SECONDS + 30.0
# How long a job waits for the other nodes after the first answer. Slower ones join later.
OTHER_ANSWERS_SECONDS = 150.0
# When the log says that the nodes take long.
SLOW_SECONDS = 60.0
NODE_LOST = "the node was lost"
NO_ANSWER = "it does not answer"
# Of the names that one message lists.
LISTED = 5


class Caller(Protocol):
    """Passes an act to the thread that owns the state."""

    def call(self, act: Callable[[], None]) -> None: ...


class Inspector:
    """Blocks in `admit_first`; from `watch` on, everything runs on the loop's thread."""

    def __init__(
        self,
        session: Session,
        loop: Caller,
        spec: Message,
        versions: dict[str, str],
        engine: str,
        expected: str | None = None,
    ) -> None:
        """`spec`: how nodes start their engine processes; `versions` and `engine` are this machine's.

        `expected` is the fingerprint of the nodes that the job began on, if this is not its first session.
        """
        self._session, self._loop, self.spec = session, loop, spec
        self._versions, self._engine, self._expected = versions, engine, expected
        self.nodes = Membership()
        self.shared: Greeting = {}
        """The greeting that every member would give."""
        self._asked: dict[str, float] = {}
        """When each node was last inspected, by its id; infinity until it answers."""
        self._contact = time.monotonic()
        self._on_change: Callable[[list[str], list[Message]], None] = lambda added, lost: None

    def admit_first(self, say: Callable[[str], None]) -> None:
        """Inspects all nodes at once, as soon as one has a core; `say` gets the lines of the log.

        Raises ClusterError if they differ or no node can take tasks in time; ConnectionLostError.
        """
        started = time.monotonic()
        while True:
            answers = self._inspect_all(self._await_cores(say), say)
            if self._expected is None:
                self._require_agreement(answers)
            for id, answer in answers.items():
                self._judge(id, answer)
            if self.nodes.slots > 0:
                return
            if time.monotonic() - started > PLACEMENT_SECONDS:
                raise unavailable(f"no node is as those were that the job began on: {self._excluded_in_words()}")
            time.sleep(LOOK_SECONDS)

    def watch(self, on_change: Callable[[list[str], list[Message]], None]) -> None:
        """From now on, `on_change` gets the names of new members, and the name and reason of each node that is lost."""
        self._on_change = on_change
        if self.nodes.excluded:
            on_change([], [self._told(id, why) for id, why in self.nodes.excluded.items()])
        threading.Thread(target=self._look_for_ever, daemon=True).start()

    def tick(self) -> None:
        """Raises ConnectionLostError if the head has been silent too long."""
        silence = time.monotonic() - self._contact
        if silence > CONTACT_SECONDS:
            raise ConnectionLostError(f"the cluster has not answered for {silence:.0f} s")

    def refuse(self, id: str, answer: Message) -> None:
        """A node refused a task, because its engine is another one."""
        self._asked[id] = time.monotonic()
        self._judge(id, answer)

    def update(self, rows: list[Message]) -> None:
        """Takes Ray's list of the nodes. New ones are inspected, and excluded ones again after a while."""
        now = self._contact = time.monotonic()
        gone = self.nodes.update(read_nodes(rows))
        if gone:
            self._on_change([], [self._told(id, NODE_LOST) for id in gone])
        self._asked = {id: at for id, at in self._asked.items() if id in self.nodes.nodes}
        for id, node in self.nodes.nodes.items():
            is_due = now - self._asked.get(id, -AGAIN_SECONDS) >= AGAIN_SECONDS
            if node.slots > 0 and id not in self.nodes.admitted and is_due:
                self._asked[id] = float("inf")
                threading.Thread(target=self._ask, args=(id,), daemon=True).start()

    def _look_for_ever(self) -> None:
        while True:
            try:
                rows = self._session.nodes()
            except ConnectionError as error:
                self._loop.call(partial(_raise, lost(error)))
                return
            except Exception:  # Ray raises many kinds; `tick` ends the session if no answer follows.
                pass
            else:
                self._loop.call(partial(self.update, rows))
            time.sleep(LOOK_SECONDS)

    def _ask(self, id: str) -> None:
        try:
            answer = answer_of(self._session.inspect(id, self.spec))
        except Exception as error:
            answer = error
        self._loop.call(partial(self._on_answer, id, answer))

    def _on_answer(self, id: str, answer: Any) -> None:
        self._asked[id] = time.monotonic()
        self._judge(id, read_inspection(answer))

    def _judge(self, id: str, answer: Message) -> None:
        if id not in self.nodes.nodes:
            return
        why = self._refusal(id, answer)
        if why is None and id not in self.nodes.admitted:
            self.nodes.admit(id)
            self._on_change([self.nodes.name_of(id)], [])
        elif why is not None and self.nodes.excluded.get(id) != why:
            self.nodes.exclude(id, why)
            self._on_change([], [self._told(id, why)])

    def _refusal(self, id: str, answer: Message) -> str | None:
        """Why the node gets no task."""
        if "fault" in answer:
            return f"the engine does not start on it: {answer['fault']}"
        if fingerprint(answer["greeting"]) == self._expected:
            self.shared = self.shared or answer["greeting"]
            return None
        if not self.shared:
            return "it is not as the nodes were that the job began on"
        differences = differences_from(self.nodes.name_of(id), answer["greeting"], self.shared)
        return f"it would not give the same bytes: {in_words(differences)}"

    def _require_agreement(self, answers: dict[str, Message]) -> None:
        """All that answer have to agree, so that the user learns at once what is wrong with one of them."""
        if not answers:
            raise unavailable(f"no node of the cluster with a core for tasks answers: {self._excluded_in_words()}")
        names = {id: self.nodes.name_of(id) for id in answers}
        faults = [f"{names[id]}: {answer['fault']}" for id, answer in answers.items() if "fault" in answer]
        if faults:
            raise unavailable(f"the engine does not start on a node of the cluster: {'; '.join(faults[:LISTED])}")
        greetings = {names[id]: answer["greeting"] for id, answer in answers.items()}
        self.shared = agreed(greetings, self._versions, self._engine)
        self._expected = fingerprint(self.shared)

    def _told(self, id: str, why: str) -> Message:
        return {"name": self.nodes.name_of(id), "reason": why}

    def _excluded_in_words(self) -> str:
        told = [self._told(id, why) for id, why in self.nodes.excluded.items()]
        return "; ".join(f"{one['name']}: {one['reason']}" for one in told[:LISTED])

    def _await_cores(self, say: Callable[[str], None]) -> list[Node]:
        """The nodes with cores. If there is none, an autoscaler sees that one is needed, and gets time."""
        started, is_told = time.monotonic(), False
        demand: Any = None
        while True:
            self.nodes.update(self._listed())
            found = [node for node in self.nodes.nodes.values() if node.slots > 0]
            if found:
                return found
            demand = demand or self._session.demand()
            waited = time.monotonic() - started
            if waited > PLACEMENT_SECONDS:
                named = [f"{node.name} with {node.cpus:g} cores" for node in self.nodes.nodes.values()]
                raise unavailable(
                    f"no node of the cluster has a core for tasks, for {PLACEMENT_SECONDS:.0f} s; it has "
                    f"{', '.join(named[:LISTED]) or 'no node'}",
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

    def _inspect_all(self, nodes: list[Node], say: Callable[[str], None]) -> dict[str, Message]:
        """The answers by the nodes' ids. Those that do not answer in time, or are lost meanwhile, get no task yet."""
        self._session.start_relay(self.nodes.head.id if self.nodes.head else "")
        asked = {self._session.inspect(node.id, self.spec): node for node in nodes}
        done, waiting = wait(asked, SLOW_SECONDS)
        if waiting:
            names = [asked[future].name for future in waiting]
            more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
            say(f"the engine is still starting on {', '.join(sorted(names)[:LISTED])}{more}")
        if not done:
            done, waiting = wait(asked, FIRST_ANSWER_SECONDS - SLOW_SECONDS, FIRST_COMPLETED)
        if not done:
            names = [node.name for node in nodes[:LISTED]]
            raise unavailable(f"no answer within {FIRST_ANSWER_SECONDS:.0f} s from {', '.join(names)}", nodes=names)
        done, waiting = wait(asked, OTHER_ANSWERS_SECONDS)
        self.nodes.update(self._listed())
        for future in waiting:
            id = asked[future].id
            self.nodes.exclude(id, NO_ANSWER)
            self._asked[id] = float("inf")
            future.add_done_callback(partial(self._on_late_answer, id))
        answers = {asked[future].id: answer_of(future) for future in done if asked[future].id in self.nodes.nodes}
        for id, answer in answers.items():
            if isinstance(answer, Exception) and not was_raised_on_node(answer):
                if isinstance(answer, ConnectionError):
                    raise lost(answer)
                self.nodes.exclude(id, NODE_LOST)
        return {id: read_inspection(answer) for id, answer in answers.items() if id not in self.nodes.excluded}

    def _on_late_answer(self, id: str, future: "Future[Any]") -> None:
        self._loop.call(partial(self._on_answer, id, answer_of(future)))


def _raise(error: Exception) -> None:
    raise error
