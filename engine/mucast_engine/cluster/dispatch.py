"""The slots of the gateway and what happens in them: a task's start, its answer, its end, and what time brings."""

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.cluster.endings import CANCELED, ending_of, is_answer
from mucast_engine.cluster.fault import ConnectionLostError, unavailable
from mucast_engine.cluster.muster import NODE_LOST, Caller, Muster
from mucast_engine.cluster.node import fingerprint
from mucast_engine.cluster.requests import TaskRequest
from mucast_engine.cluster.runs import (
    DELAYED_SECONDS,
    PLACEMENT_SECONDS,
    SILENT_SECONDS,
    Attempt,
    Death,
    Run,
    Runs,
)
from mucast_engine.cluster.sender import Sender
from mucast_engine.cluster.session import Session, lost
from mucast_engine.failure import TaskError

# What the caller gets of progress comes in at most ten batches a second.
POLL_PAUSE_SECONDS = 0.1
POLL_SECONDS = 5.0
# Where the end of a killed task is not told by then, its node does not answer; the task ends itself there.
KILL_SECONDS = 3.0
CANCEL_AGAIN_SECONDS = 0.5
# How long after an attempt's death the head may take to say whether its node was lost.
VERDICT_SECONDS = 2.0
# Of the object store of the head: arrays of tasks that wait or run must find room besides.
KEPT_SHARE = 0.5
# Ray has not taken a task to a node for so long though there is room: the node that was to take it does not answer.
STUCK_SECONDS = 75.0
# Of a GPU, for the task that only asks whether there is one.
GLANCE = 0.01


class Dispatch:
    """All of it on the loop's thread, but for what Session's callbacks hand to the loop."""

    def __init__(
        self,
        session: Session,
        loop: Caller,
        muster: Muster,
        folder: Path,
        emit: Callable[[Message], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.session, self.muster = session, muster
        self._loop, self._emit, self._clock = loop, emit, clock
        self._folder = folder
        self._store = ArrayStore(folder)
        self._runs = Runs()
        self._deaths: list[Death] = []
        self._polled = 0.0
        self._slots = 0
        self._canceled_at: dict[str, float] = {}
        self._sender: Sender | None = None

    def begin(self) -> None:
        """Once the nodes have been gathered."""
        head = self.muster.membership.nodes.get(self.muster.head)
        store = head.store_bytes if head else 0
        self._sender = Sender(self.session, self._folder, int(store * KEPT_SHARE))
        self._slots = self.muster.membership.slots
        self._fingerprint = fingerprint(self.muster.shared)
        self.muster.watch(self._on_nodes, self._on_look)
        self._poll()

    def start(self, worker: int) -> None:
        """A slot needs no process: it is there at once."""
        self._runs.slots[worker] = None
        self._emit({"event": "worker_started", "worker": worker, "node": None})

    def give(self, request: TaskRequest) -> None:
        if request.worker not in self._runs.slots:
            return  # It has ended, and the pool learns that from its end.
        request = self._fitted(request)
        run = Run(request, self._clock())
        self._runs.slots[request.worker] = run
        self._send(run)

    def kill(self, worker: int) -> None:
        if worker not in self._runs.slots:
            return
        run = self._runs.slots[worker]
        if run is None:
            self._end_slot(worker, None, CANCELED)
            return
        run.killed = self._clock()
        if all(attempt.handle is None for attempt in run.attempts.values()):
            self._end_slot(worker, None, CANCELED)  # The sender has not taken it to the cluster, and does not.
            return
        for attempt in run.attempts.values():
            self._cancel(attempt)

    def tick(self) -> None:
        """What is due now. Raises ConnectionLostError, and ClusterError where a task can never be placed."""
        now = self._clock()
        self.muster.tick()
        for run, attempt in self._runs.silent(now):
            self._give_up(run, attempt, f"its node did not answer for {SILENT_SECONDS:.0f} s")
        self._settle_deaths(now)
        for worker, run in list(self._runs):
            if run.killed is not None:
                self._press(worker, run, now)
            elif run.begun is None:
                self._look_after_waiting(worker, run, now)
        self._start_second(now)

    def _fitted(self, request: TaskRequest) -> TaskRequest:
        """No more cores than the largest node has; a look for GPUs goes to a node that has one."""
        membership = self.muster.membership
        cpus = min(request.cpus, float(int(membership.most_cpus)))
        gpus = request.gpus
        if request.kind == "device" and gpus == 0 and any(node.gpus for node in membership.members):
            gpus = GLANCE
        return request._replace(cpus=cpus, gpus=gpus)

    def _send(self, run: Run, avoid: frozenset[str] = frozenset()) -> None:
        assert self._sender is not None
        request = run.request
        attempt = run.attempt(self._clock(), avoid)
        message = {
            "key": attempt.key,
            "engine": self.muster.spec,
            "fingerprint": self._fingerprint,
            "task": request.text,
            "arrays": request.arrays,
        }
        self._sender.send(
            message,
            request,
            request.cpus,
            sorted({*self.muster.membership.avoid, *avoid, *self._elsewhere(request.node)}),
            still_wanted=lambda: self._runs.of(attempt.key) is not None,
            taken=partial(setattr, attempt, "handle"),
            done=lambda answer: self._loop.call(lambda: self._on_answer(attempt, answer)),
            failed=lambda error: self._loop.call(lambda: self._on_answer(attempt, error)),
        )

    def _elsewhere(self, node: str | None) -> list[str]:
        """The nodes that a task for `node` alone may not go to."""
        return [] if node is None else [one.id for one in self.muster.membership.members if one.name != node]

    def _on_answer(self, attempt: Attempt, answer: Any) -> None:
        """What `run_task` returned, or the exception in its place."""
        if isinstance(answer, ConnectionError | ConnectionLostError):
            raise lost(answer)
        found = self._runs.of(attempt.key)
        self._canceled_at.pop(attempt.key, None)
        if found is None:
            return  # It was given up, or another attempt was first.
        worker, run = found
        if isinstance(answer, dict) and isinstance(answer.get("node"), str):
            attempt.hear(answer["node"], self._clock())
        if isinstance(answer, TaskError):
            self._emit_error(worker, run, answer)
        elif run.killed is not None:
            self._lose(worker, run, attempt, CANCELED)
        elif isinstance(answer, dict) and "refused" in answer:
            self.muster.refuse(answer["node"], answer["refused"])
            del run.attempts[attempt.key]
            self._send(run)
        elif is_answer(answer):
            self._finish(worker, run, attempt, answer)
        else:
            self._lose(worker, run, attempt, ending_of(answer))

    def _finish(self, worker: int, run: Run, attempt: Attempt, answer: Message) -> None:
        """The first answer counts: those of other attempts would be the same."""
        self._tell_progress(run, 0, answer["updates"])
        message = answer["message"]
        try:
            for ref, data in answer["arrays"]:
                if ref not in run.request.outputs:
                    raise TaskError("internal", f"a node answered with an array that the task does not name: {ref!r}")
                self._store.write(ref, np.frombuffer(data, dtype="<f8"))
        except (TaskError, ValueError) as given:
            error = given if isinstance(given, TaskError) else TaskError("internal", f"a node answered: {given}")
            message = {"event": "error", "code": error.code, "message": error.message, "data": error.data}
        self._runs.note_done(run, self._clock())
        self._free(worker, run, attempt)
        self._emit({"id": run.request.id, **message})

    def _emit_error(self, worker: int, run: Run, error: TaskError) -> None:
        """An array that cannot be read here."""
        self._free(worker, run, None)
        message = {"code": error.code, "message": error.message, "data": error.data}
        self._emit({"id": run.request.id, "event": "error", **message})

    def _free(self, worker: int, run: Run, answered: Attempt | None) -> None:
        """Leaves the slot without a task, and ends the attempts that are not needed any more."""
        for attempt in run.attempts.values():
            if attempt is not answered:
                self._cancel(attempt)
        run.attempts.clear()
        self._runs.slots[worker] = None

    def _lose(self, worker: int, run: Run, attempt: Attempt, reason: str) -> None:
        """An attempt has ended without an answer. Where it was the last, it is seen whether its node was lost."""
        del run.attempts[attempt.key]
        if run.attempts:
            return
        if run.killed is not None:
            self._end_slot(worker, attempt.node, CANCELED)
        elif reason:
            self._end_slot(worker, attempt.node, reason)
        else:
            self._deaths.append(Death(worker, attempt, "its process was killed", self._clock()))
            self._probe(attempt.node)

    def _probe(self, id: str | None) -> None:
        """Asks the head whether the node still takes connections."""
        node = self.muster.membership.nodes.get(id or "")
        if node is not None and self._sender is not None:
            self._sender.call(
                lambda: self.session.reaches(node.address, node.port, partial(self._hand_verdict, node.id))
            )

    def _hand_verdict(self, id: str, is_there: Any) -> None:
        self._loop.call(lambda: self._on_verdict(id, is_there is not False))

    def _on_verdict(self, id: str, is_there: bool) -> None:
        if not is_there:
            self.muster.leave_out(id, NODE_LOST)
        self._settle_deaths(self._clock(), known=id)

    def _settle_deaths(self, now: float, known: str | None = None) -> None:
        """Tells the ends of tasks whose nodes are known to live or to be lost; after a while those of the others."""
        membership = self.muster.membership
        for death in self._deaths[:]:
            node = death.attempt.node
            is_lost = node is not None and node not in {member.id for member in membership.members}
            if is_lost or (node is not None and node == known) or now - death.at > VERDICT_SECONDS:
                self._deaths.remove(death)
                lost_words = f"the node {membership.name_of(node or '')} was lost"
                self._end_slot(death.worker, node, lost_words if is_lost else death.reason)

    def _give_up(self, run: Run, attempt: Attempt, reason: str) -> None:
        """An attempt on a node that does not answer: its end cannot be waited for."""
        found = self._runs.of(attempt.key)
        if found is None:
            return
        self._cancel(attempt)
        if attempt.node is not None:
            self.muster.leave_out(attempt.node, "it does not answer")
        self._lose(found[0], run, attempt, reason)

    def _cancel(self, attempt: Attempt) -> None:
        if attempt.handle is not None and self._sender is not None:
            self._canceled_at[attempt.key] = self._clock()
            self._sender.cancel(attempt.handle)

    def _press(self, worker: int, run: Run, now: float) -> None:
        """A cancel can come before the node has the task: it is repeated until the task has ended, for a while."""
        assert run.killed is not None
        if now - run.killed > KILL_SECONDS:
            nodes = [attempt.node for attempt in run.attempts.values()]
            self._end_slot(worker, nodes[0] if nodes else None, f"{CANCELED}; its node does not answer")
            return
        for attempt in run.attempts.values():
            if now - self._canceled_at.get(attempt.key, 0.0) > CANCEL_AGAIN_SECONDS:
                self._cancel(attempt)

    def _look_after_waiting(self, worker: int, run: Run, now: float) -> None:
        """A task that no node has begun: for want of a node that can hold it, or because one does not answer."""
        request, membership = run.request, self.muster.membership
        if membership.can_hold(request.cpus, request.gpus):
            run.unplaceable_since = None
            for attempt in list(run.attempts.values()):
                is_stuck = attempt.handle is not None and now - attempt.started > STUCK_SECONDS
                if is_stuck and self._runs.used() <= membership.slots:
                    self._cancel(attempt)
                    del run.attempts[attempt.key]
                    self._send(run)
            return
        if run.unplaceable_since is None:
            run.unplaceable_since = now
        needs = f"{request.cpus:g} cores" + (f" and {request.gpus:g} GPUs" if request.gpus else "")
        waited = now - run.unplaceable_since
        if waited > PLACEMENT_SECONDS:
            raise unavailable(
                f"no node of the cluster can hold a task that needs {needs}, for {PLACEMENT_SECONDS:.0f} s",
                cpus=request.cpus,
                gpus=request.gpus,
            )
        if waited > DELAYED_SECONDS and not run.is_delayed:
            run.is_delayed = True
            message = f"a task waits for a node that has {needs} (for {PLACEMENT_SECONDS:.0f} s at most)"
            self._emit({"event": "delayed", "id": request.id, "message": message})

    def _start_second(self, now: float) -> None:
        idle = self.muster.membership.slots - self._runs.used()
        slow = self._runs.slowest(now, idle)
        if slow is not None:
            nodes = frozenset(attempt.node for attempt in slow.attempts.values() if attempt.node is not None)
            if any(node.id not in nodes for node in self.muster.membership.members):
                self._send(slow, nodes)

    def _end_slot(self, worker: int, node: str | None, reason: str) -> None:
        self._runs.slots.pop(worker, None)
        name = None if node is None else self.muster.membership.name_of(node)
        self._emit({"event": "worker_exited", "worker": worker, "node": name, "reason": reason})

    def _on_nodes(self, added: list[str], gone: list[Message]) -> None:
        slots = self.muster.membership.slots
        if added or gone or slots != self._slots:
            self._slots = slots
            self._emit({"event": "slots", "slots": slots, "added": added[:LISTED], "lost": gone[:LISTED]})

    def _on_look(self, gone: list[str]) -> None:
        for node in gone:
            for run, attempt in self._runs.on_node(node):
                found = self._runs.of(attempt.key)
                if found is not None:
                    name = self.muster.membership.name_of(node)
                    self._lose(found[0], run, attempt, f"the node {name} was lost")

    def _poll(self) -> None:
        self._polled = self._clock()
        assert self._sender is not None
        self._sender.call(self._ask_relay)  # A head that does not answer blocks it.

    def _ask_relay(self) -> None:
        try:
            self.session.poll(POLL_SECONDS, self._hand_told)
        except Exception as error:
            self._hand_told(error)

    def _hand_told(self, told: Any) -> None:
        self._loop.call(lambda: self._on_told(told))

    def _on_told(self, told: Any) -> None:
        if isinstance(told, Exception):
            raise lost(told)
        self.muster.note_contact()
        for key, node, first, updates in told:
            found = self._runs.of(key)
            if found is not None:
                run = found[1]
                run.attempts[key].hear(node, self._clock())
                self._tell_progress(run, first, updates)
            for death in self._deaths:
                if death.attempt.key == key and death.attempt.node is None:
                    death.attempt.hear(node, self._clock())
                    self._probe(node)
        self._poll_later()

    def _poll_later(self) -> None:
        pause = max(0.0, POLL_PAUSE_SECONDS - (self._clock() - self._polled))
        timer = threading.Timer(pause, lambda: self._loop.call(self._poll))
        timer.daemon = True
        timer.start()

    def _tell_progress(self, run: Run, first: int, updates: list[Message]) -> None:
        if run.killed is None:
            for update in run.new_updates(first, updates):
                self._emit({"id": run.request.id, "event": "progress", **update})


LISTED = 20
