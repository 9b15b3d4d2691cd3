"""The slots of the gateway and what happens in them: a task's start, its answer and its end."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.cluster.answers import Answer, read_answer, read_refusal, read_told, was_raised_on_node
from mucast_engine.cluster.cancels import Cancels
from mucast_engine.cluster.deaths import Deaths
from mucast_engine.cluster.depletion import Depletion
from mucast_engine.cluster.endings import CANCELED, OVER_MEMORY, ending_of, has_lost_array
from mucast_engine.cluster.fault import ConnectionLostError
from mucast_engine.cluster.hearing import Hearing
from mucast_engine.cluster.muster import Caller, Muster
from mucast_engine.cluster.node import fingerprint
from mucast_engine.cluster.placement import avoided, fitted
from mucast_engine.cluster.relay_poll import RelayPoll
from mucast_engine.cluster.requests import TaskRequest
from mucast_engine.cluster.runs import SILENT_SECONDS, Attempt, Run, Runs
from mucast_engine.cluster.sender import Sender
from mucast_engine.cluster.session import Session, lost
from mucast_engine.cluster.signs import Signs
from mucast_engine.cluster.waiting import WaitingTasks
from mucast_engine.failure import TaskError

# Where the end of a killed task is not told by then, its node does not answer; the task ends itself there.
KILL_SECONDS = 3.0
# Of the object store of the head: arrays of tasks that wait or run must find room besides.
KEPT_SHARE = 0.5
# How often the arrays of a task are put again that were gone from the cluster, before that counts as a failed attempt.
LOST_ARRAYS = 3
# After Ray has ended tasks for want of memory, which takes a while to be free: what begins before is ended too.
MEMORY_PAUSE_SECONDS = 5.0
# Of the names that one message lists.
LISTED = 20


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
        self._slots = 0
        self._was_full = self._clock()
        """When every slot was last known to be at work: the tasks ahead have to wait then."""
        self._cancels = Cancels(self._cancel_at_cluster, clock)
        self._deaths = Deaths(muster, self._probe, self.end_slot, clock)
        self._signs = Signs(self._ask_for_sign, clock)
        self._waiting = WaitingTasks(muster, self, self._signs, emit)
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
        self._poll = RelayPoll(self.session, self._sender, self._loop, self._on_told, self._clock)
        self._poll.ask()

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
            self.send(run)

    def kill(self, worker: int) -> None:
        if worker not in self._runs:
            return
        run = self._runs[worker]
        if run is None:
            self.end_slot(worker, None, CANCELED)
            return
        run.killed = self._clock()
        for attempt in list(run.attempts.values()):
            if not self._cancel(attempt):
                del run.attempts[attempt.key]
        if not run.attempts:
            self.end_slot(worker, None, CANCELED)

    def tick(self) -> None:
        """What is due now. Raises ConnectionLostError, and ClusterError where a task cannot be placed in time."""
        now = self._clock()
        self.muster.tick()
        self._cancels.tick()
        self.hearing.check(self._sender.putting if self._sender else 0)
        for run, attempt in [] if self.hearing.is_deaf else self._runs.silent(now):
            self._give_up(run, attempt, f"its node did not answer for {SILENT_SECONDS:.0f} s")
        self._deaths.settle()
        self._depletion.check(self.muster.membership, now)
        if self._runs.running() >= self.muster.membership.slots:
            self._was_full = now
        for worker, run in list(self._runs):
            if run.killed is not None:
                self._press(worker, run, now)
            elif run.held_until is not None:
                self._send_held(run, now)
            elif run.attempts and run.begun is None:
                self._waiting.look_after(worker, run, self._was_full, now)
        self._start_second(now)

    def _send_held(self, run: Run, now: float) -> None:
        if run.held_until is not None and now >= run.held_until:
            run.held_until = None
            self.send(run)

    def send(self, run: Run, besides: frozenset[str] = frozenset()) -> None:
        """Starts one more attempt, on none of the nodes `besides`."""
        assert self._sender is not None
        if not run.attempts:
            run.request = fitted(self.muster.membership, run)
        request = run.request
        avoid = avoided(self.muster.membership, request) | besides
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
            sorted(avoid),
            still_wanted=lambda: not attempt.is_withdrawn,
            claim=attempt.claim,
            taken=lambda handle: self._loop.call(lambda: self._on_taken(attempt, handle)),
            done=lambda answer: self._loop.call(lambda: self._on_answer(attempt, answer)),
            failed=lambda error: self._loop.call(lambda: self._on_answer(attempt, error)),
        )

    def _on_taken(self, attempt: Attempt, handle: Any) -> None:
        attempt.take(handle, self._clock())
        self._cancels.tick()
        found = self._runs.of(attempt.key)
        if found is None or found[1].killed is not None or len(found[1].attempts) > 1 or attempt.begun is not None:
            return
        # A node that was lost while the attempt waited for its arrays is not among those that Ray was told to avoid.
        if not avoided(self.muster.membership, found[1].request) <= attempt.avoided:
            self.replace(found[1], attempt)

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
        self.send(run)

    def replace(self, run: Run, attempt: Attempt) -> None:
        """Ends an attempt that no node has begun, and starts another in its place."""
        self._cancel(attempt)
        self._send_again(run, attempt)

    def withdraw_all(self, run: Run) -> None:
        """Ends every attempt; none of them is waited for."""
        for attempt in run.attempts.values():
            self._cancel(attempt)
        run.attempts.clear()

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
        if answered is not None:
            run.attempts.pop(answered.key, None)
        self.withdraw_all(run)
        self._runs.free(worker)

    def _lose(self, worker: int, run: Run, attempt: Attempt, reason: str) -> None:
        """An attempt has ended without an answer. Where it was the last, it is seen whether its node was lost."""
        del run.attempts[attempt.key]
        if run.attempts:
            return
        if reason == OVER_MEMORY:
            self._runs.note_over_memory(run.request)
        if run.killed is not None:
            self.end_slot(worker, attempt.node, CANCELED)
        elif reason:
            self.end_slot(worker, attempt.node, reason)
        else:
            self._deaths.add(worker, attempt)

    def _probe(self, id: str, tell: Callable[[bool], None]) -> None:
        """Has the head try a connection to the node. A head that cannot say takes it to be there."""
        node = self.muster.membership.nodes.get(id)
        if node is None:
            return
        place = {id: (node.address, node.port)}

        def done(found: Any) -> None:
            self._loop.call(lambda: tell(not isinstance(found, dict) or found.get(id) is True))

        assert self._sender is not None
        self._sender.call(lambda: self.session.reach(place, done))

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
            self.end_slot(worker, nodes[0] if nodes else None, f"{CANCELED}; its node does not answer")

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
                self.send(slow, nodes)

    def end_slot(self, worker: int, node: str | None, reason: str) -> None:
        self._runs.end(worker)
        self._deaths.drop(worker)
        name = None if node is None else self.muster.membership.name_of(node)
        self._emit({"event": "worker_exited", "worker": worker, "node": name, "reason": reason})

    def _on_nodes(self, added: list[str], gone: list[Message]) -> None:
        self._depletion.note_lost(gone)
        if gone and self._sender is not None:  # They may have copies of arrays.
            self._sender.forget_all()
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
            self.replace(run, attempt)

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
            self._deaths.hear(key, node)

    def _tell_progress(self, run: Run, first: int, updates: list[Message]) -> None:
        if run.killed is None:
            for update in run.new_updates(first, updates):
                self._emit({**update, "id": run.request.id, "event": "progress"})
