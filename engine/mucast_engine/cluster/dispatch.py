"""The slots of the gateway and what happens in them: a task's start, its answer, its end, and what time brings."""

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.cluster.answers import Answer, read_answer, read_refusal, read_told, was_raised_on_node
from mucast_engine.cluster.cancels import Cancels
from mucast_engine.cluster.depletion import Depletion
from mucast_engine.cluster.endings import CANCELED, OVER_MEMORY, ending_of, has_lost_array
from mucast_engine.cluster.fault import ConnectionLostError, unavailable
from mucast_engine.cluster.hearing import Hearing
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
from mucast_engine.cluster.signs import Signs
from mucast_engine.failure import TaskError

# What the caller gets of progress comes in at most ten batches a second.
POLL_PAUSE_SECONDS = 0.1
POLL_SECONDS = 5.0
# Where the end of a killed task is not told by then, its node does not answer; the task ends itself there.
KILL_SECONDS = 3.0
# How long after an attempt's death the head may take to say whether its node was lost.
VERDICT_SECONDS = 2.0
# Of the object store of the head: arrays of tasks that wait or run must find room besides.
KEPT_SHARE = 0.5
# No node has begun a task for so long: those that give no sign either are taken to be frozen.
STUCK_SECONDS = 75.0
# Between two lines of the log about tasks that wait for a core.
DELAYED_AGAIN_SECONDS = 60.0
# How often the arrays of a task are put again that were gone from the cluster, before that counts as a failed attempt.
LOST_ARRAYS = 3
# After Ray has ended tasks for want of memory, which takes a while to be free: what begins before is ended too.
MEMORY_PAUSE_SECONDS = 5.0
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
        self._was_full = self._clock()
        """When every slot was last known to be at work: the tasks ahead have to wait then."""
        self._cancels = Cancels(self._cancel_at_cluster, clock)
        self._signs = Signs(self._ask_for_sign, clock)
        self._delayed_at = -DELAYED_AGAIN_SECONDS
        self._depletion = Depletion(lambda words: emit({"event": "delayed", "message": words}))
        self.hearing = Hearing(clock)
        self._sender: Sender | None = None

    def begin(self) -> None:
        """Once the nodes have been gathered."""
        head = self.muster.membership.nodes.get(self.muster.head)
        store = head.store_bytes if head else 0
        self._sender = Sender(self.session, self._folder, int(store * KEPT_SHARE))
        self._slots = self.muster.membership.slots
        self._fingerprint = fingerprint(self.muster.shared)
        self.muster.watch(self._on_nodes, self._on_look)
        self.hearing.note_answer()
        self._poll()

    def start(self, worker: int) -> None:
        """A slot needs no process: it is there at once."""
        self._runs.free(worker)
        self._emit({"event": "worker_started", "worker": worker, "node": None})

    def give(self, request: TaskRequest) -> None:
        if request.worker not in self._runs:
            return  # It has ended, and the pool learns that from its end.
        run = Run(request, needs_whole_node=self._runs.take_over_memory(request))
        self._runs.give(request.worker, run)
        if run.needs_whole_node:
            run.held_until = self._clock() + MEMORY_PAUSE_SECONDS
        else:
            self._send(run)

    def kill(self, worker: int) -> None:
        if worker not in self._runs:
            return
        run = self._runs[worker]
        if run is None:
            self._end_slot(worker, None, CANCELED)
            return
        run.killed = self._clock()
        for attempt in list(run.attempts.values()):
            if not self._cancel(attempt):
                del run.attempts[attempt.key]
        if not run.attempts:
            self._end_slot(worker, None, CANCELED)

    def tick(self) -> None:
        """What is due now. Raises ConnectionLostError, and ClusterError where a task cannot be placed in time."""
        now = self._clock()
        self.muster.tick()
        self._cancels.tick()
        self.hearing.check(self._sender.putting if self._sender else 0)
        for run, attempt in [] if self.hearing.is_deaf else self._runs.silent(now):
            self._give_up(run, attempt, f"its node did not answer for {SILENT_SECONDS:.0f} s")
        self._settle_deaths(now)
        self._depletion.check(self.muster.membership, now)
        if self._runs.running() >= self.muster.membership.slots:
            self._was_full = now
        for worker, run in list(self._runs):
            if run.killed is not None:
                self._press(worker, run, now)
            elif run.held_until is not None:
                self._send_held(run, now)
            elif run.begun is None:
                self._look_after_waiting(worker, run, now)
        self._start_second(now)

    def _send_held(self, run: Run, now: float) -> None:
        if run.held_until is not None and now >= run.held_until:
            run.held_until = None
            self._send(run)

    def _fitted(self, run: Run) -> TaskRequest:
        """No more cores than the largest node has now; a look for GPUs goes to a node that has one.

        One that Ray ended for want of memory gets a whole node: Ray ends all tasks of a node, whichever holds it.
        """
        asked, membership = run.asked, self.muster.membership
        if not membership.members:
            return asked
        most = float(int(membership.most_cpus))
        gpus = asked.gpus
        if asked.kind == "device" and gpus == 0 and any(node.gpus for node in membership.members):
            gpus = GLANCE
        return asked._replace(cpus=most if run.needs_whole_node else min(asked.cpus, most), gpus=gpus)

    def _send(self, run: Run, besides: frozenset[str] = frozenset()) -> None:
        assert self._sender is not None
        if not run.attempts:
            run.request = self._fitted(run)
        request = run.request
        avoided = self._avoided(request) | besides
        attempt = run.attempt(self._clock(), avoided)
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
            sorted(avoided),
            still_wanted=lambda: not attempt.is_withdrawn,
            claim=attempt.claim,
            taken=lambda handle: self._loop.call(lambda: self._on_taken(attempt, handle)),
            done=lambda answer: self._loop.call(lambda: self._on_answer(attempt, answer)),
            failed=lambda error: self._loop.call(lambda: self._on_answer(attempt, error)),
        )

    def _avoided(self, request: TaskRequest) -> frozenset[str]:
        """The nodes that it may not go to, as things are."""
        membership = self.muster.membership
        if request.node is None:
            return membership.avoid
        return membership.avoid | {node.id for node in membership.members if node.name != request.node}

    def _on_taken(self, attempt: Attempt, handle: Any) -> None:
        attempt.take(handle, self._clock())
        self._cancels.tick()

    def _on_answer(self, attempt: Attempt, answer: Any) -> None:
        """What `run_task` returned, or the exception in its place."""
        if isinstance(answer, ConnectionError | ConnectionLostError) and not was_raised_on_node(answer):
            raise lost(answer)
        found = self._runs.of(attempt.key)
        self._cancels.remove(attempt)
        if found is None:
            return  # It was given up, or another attempt was first.
        worker, run = found
        if isinstance(answer, dict) and isinstance(answer.get("node"), str):
            self._note(attempt, answer["node"])
        refused = read_refusal(answer)
        if isinstance(answer, TaskError) and not was_raised_on_node(answer):
            self._emit_error(worker, run, answer)
        elif run.killed is not None:
            self._lose(worker, run, attempt, CANCELED)
        elif refused is not None and self._may_go_elsewhere(run, attempt):
            self.muster.refuse(attempt.node or "", refused)
            self._send_again(run, attempt)
        elif has_lost_array(answer) and run.arrays_lost < LOST_ARRAYS:
            run.arrays_lost += 1
            assert self._sender is not None
            self._sender.forget(run.request)
            self._send_again(run, attempt)
        elif (read := read_answer(answer, run.request)) is not None:
            self._finish(worker, run, attempt, read)
        else:
            self._lose(worker, run, attempt, ending_of(answer))

    def _note(self, attempt: Attempt, node: str) -> bool:
        """That `node` has told something of the attempt; False where another one has it."""
        is_its_own = attempt.hear(node, self._clock())
        if is_its_own:
            self._signs.note(node)
        return is_its_own

    def _may_go_elsewhere(self, run: Run, attempt: Attempt) -> bool:
        """Once for each node that is there, however often one refuses the task."""
        is_new = attempt.node in self.muster.membership.nodes and attempt.node not in run.refused_by
        run.refused_by.add(attempt.node or "")
        return is_new

    def _send_again(self, run: Run, attempt: Attempt) -> None:
        """In place of an attempt whose end says nothing about the task."""
        del run.attempts[attempt.key]
        self._send(run)

    def _finish(self, worker: int, run: Run, attempt: Attempt, answer: Answer) -> None:
        """The first answer counts: those of other attempts would be the same."""
        self._tell_progress(run, 0, answer.updates)
        message = answer.message
        try:
            for ref, values in answer.arrays:
                self._store.write(ref, values)
        except TaskError as error:
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
        self._runs.free(worker)

    def _lose(self, worker: int, run: Run, attempt: Attempt, reason: str) -> None:
        """An attempt has ended without an answer. Where it was the last, it is seen whether its node was lost."""
        del run.attempts[attempt.key]
        if run.attempts:
            return
        if reason == OVER_MEMORY:
            self._runs.note_over_memory(run.request)
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
            place = {node.id: (node.address, node.port)}
            self._sender.call(lambda: self.session.reach(place, partial(self._hand_verdict, node.id)))

    def _hand_verdict(self, id: str, found: Any) -> None:
        self._loop.call(lambda: self._on_verdict(id, not isinstance(found, dict) or found.get(id) is True))

    def _on_verdict(self, id: str, is_there: bool) -> None:
        if not is_there:
            self.muster.lose(id, NODE_LOST)
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

    def _cancel(self, attempt: Attempt) -> bool:
        """Whether there is an end of it to wait for: what the sender has not taken to the cluster, it does not."""
        if attempt.withdraw():
            return False
        self._cancels.add(attempt)
        return True

    def _cancel_at_cluster(self, handle: Any) -> None:
        assert self._sender is not None
        self._sender.cancel(handle)

    def _press(self, worker: int, run: Run, now: float) -> None:
        """A slot that is to end does not wait long for a node that does not answer."""
        assert run.killed is not None
        if now - run.killed > KILL_SECONDS:
            nodes = [attempt.node for attempt in run.attempts.values()]
            self._end_slot(worker, nodes[0] if nodes else None, f"{CANCELED}; its node does not answer")

    def _look_after_waiting(self, worker: int, run: Run, now: float) -> None:
        """A task that no node has begun: for want of a node that can hold it, or of one that answers."""
        request, membership = run.request, self.muster.membership
        if request.node is not None and all(node.name != request.node for node in membership.members):
            for attempt in run.attempts.values():
                self._cancel(attempt)
            self._end_slot(worker, None, f"the node {request.node} takes no tasks any more")
            return
        if membership.can_hold(request.cpus, request.gpus, besides=self._avoided(request)):
            run.unplaceable_since = None
            for attempt in list(run.attempts.values()):
                if attempt.waits_since is not None:
                    self._look_after_unbegun(run, attempt, max(attempt.waits_since, self._was_full), now)
            return
        fitted = self._fitted(run)
        if fitted != request and membership.can_hold(fitted.cpus, fitted.gpus, besides=self._avoided(fitted)):
            for attempt in list(run.attempts.values()):
                self._cancel(attempt)
                del run.attempts[attempt.key]
            self._send(run)  # The largest node is another one than it was.
            return
        if run.unplaceable_since is None:
            run.unplaceable_since = now
        needs = _needs(request)
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

    def _look_after_unbegun(self, run: Run, attempt: Attempt, since: float, now: float) -> None:
        """Ray has the attempt, and some node could hold it."""
        request, membership = run.request, self.muster.membership
        if now - since > DELAYED_SECONDS:
            self._signs.ask([node.id for node in membership.members])
            self._say_that_it_waits(run, now)
        if now - since > STUCK_SECONDS and not self.hearing.is_deaf:
            for node in self._signs.silent([node.id for node in membership.members], since):
                self.muster.leave_out(node, "it does not answer")
            attempt.waits_since = now
        # Ray still takes it to nodes that were left out since, and never to those that were admitted again.
        avoided = self._avoided(request)
        is_held_back = not membership.can_hold(request.cpus, request.gpus, besides=attempt.avoided)
        if is_held_back or (attempt.waits_since == now and not avoided <= attempt.avoided):
            self._cancel(attempt)
            self._send_again(run, attempt)

    def _say_that_it_waits(self, run: Run, now: float) -> None:
        if run.is_delayed or now - self._delayed_at < DELAYED_AGAIN_SECONDS:
            return
        run.is_delayed, self._delayed_at = True, now
        words = (
            f"a task waits for {_needs(run.request)} to be free; a node that does not answer for {STUCK_SECONDS:.0f} s "
            "gets no more tasks"
        )
        self._emit({"event": "delayed", "id": run.request.id, "message": words})

    def _ask_for_sign(self, node: str, tell: Callable[[bool], None]) -> None:
        """On another thread, since Ray may keep it waiting."""

        def done(answer: Any) -> None:
            self._loop.call(lambda: tell(not isinstance(answer, Exception)))

        assert self._sender is not None
        self._sender.call(lambda: self.session.ping(node, done))

    def _start_second(self, now: float) -> None:
        idle = self.muster.membership.slots - self._runs.used()
        slow = self._runs.slowest(now, idle)
        if slow is not None:
            nodes = frozenset(attempt.node for attempt in slow.attempts.values() if attempt.node is not None)
            if any(node.id not in nodes for node in self.muster.membership.members):
                slow.is_doubled = True
                self._send(slow, nodes)

    def _end_slot(self, worker: int, node: str | None, reason: str) -> None:
        self._runs.end(worker)
        name = None if node is None else self.muster.membership.name_of(node)
        self._emit({"event": "worker_exited", "worker": worker, "node": name, "reason": reason})

    def _on_nodes(self, added: list[str], gone: list[Message]) -> None:
        self._depletion.note_lost(gone)
        slots = self.muster.membership.slots
        if added or gone or slots != self._slots:
            self._slots = slots
            self._emit({"event": "slots", "slots": slots, "added": added[:LISTED], "lost": gone[:LISTED]})

    def _on_look(self, gone: list[str]) -> None:
        for node in gone:
            for run, attempt in self._runs.on_node(node):
                found = self._runs.of(attempt.key)
                if found is not None:
                    self._cancel(attempt)  # A node that was cut off only may come back.
                    name = self.muster.membership.name_of(node)
                    self._lose(found[0], run, attempt, f"the node {name} was lost")
        if gone:
            self._send_unbegun_again()

    def _send_unbegun_again(self) -> None:
        """Ray may have taken them to a node that is gone, and would keep them there until it learns of that."""
        for run, attempt in self._runs.unbegun():
            self._cancel(attempt)
            self._send_again(run, attempt)

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
        if self.hearing.note_answer():
            self._runs.restart_silence(self._clock())
        for key, node, first, updates in read_told(told):
            found = self._runs.of(key)
            if found is not None and self._note(found[1].attempts[key], node):
                self._tell_progress(found[1], first, updates)
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
                self._emit({**update, "id": run.request.id, "event": "progress"})


def _needs(request: TaskRequest) -> str:
    cores = "a core" if request.cpus == 1 else f"{request.cpus:g} cores"
    return cores + (f" and {request.gpus:g} GPUs" if request.gpus else "")


LISTED = 20
