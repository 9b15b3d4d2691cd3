"""The slots of the gateway and the task in each: its start, its progress, its answer and its end."""

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.cluster.answers import Answer, read_answer, read_refusal, read_told, was_raised_on_node
from mucast_engine.cluster.fault import ConnectionLostError, unavailable
from mucast_engine.cluster.inspection import DELAYED_SECONDS, PLACEMENT_SECONDS, Caller, Inspector
from mucast_engine.cluster.node import fingerprint
from mucast_engine.cluster.nodes import needs_of
from mucast_engine.cluster.requests import TaskRequest
from mucast_engine.cluster.sender import Sender
from mucast_engine.cluster.session import Session, lost
from mucast_engine.failure import TaskError, sentence_of

# If the end of a canceled task is not known by then, its slot ends without it.
CANCEL_SECONDS = 3.0
# Of the object store of the head: arrays of tasks that wait or run need room too.
KEPT_SHARE = 0.5
# A task runs twice at most. Ray itself does not count the times that it ends a task for want of memory.
MAX_STARTS = 2
# Between two looks at the tasks that wait; there can be thousands.
CHECK_SECONDS = 1.0
# Between two lines of the log about tasks that wait for a core.
DELAYED_AGAIN_SECONDS = 60.0
# The caller gets progress in at most ten batches a second.
POLL_PAUSE_SECONDS = 0.1
POLL_SECONDS = 5.0
# Of the names that one message lists.
LISTED = 20

CANCELED = "it was canceled"
OVER_MEMORY = "it was over the memory of its node"
# By the names of Ray's exceptions.
ENDINGS = {
    "TaskCancelledError": CANCELED,
    "OutOfMemoryError": OVER_MEMORY,
    "NodeDiedError": "its node was lost",
    "LocalRayletDiedError": "its node was lost",
    "WorkerCrashedError": "its process was killed, or its node was lost",
}


class Run:
    """A task in a slot."""

    def __init__(self, asked: TaskRequest) -> None:
        self.asked = self.request = asked
        """As the pool sent it, and with no more cores than a node has."""
        self.sent = 0
        """How often the gateway has sent it."""
        self.task: Any = None
        """Ray's reference, once Ray has the task."""
        self.starts = 0
        self.node: str | None = None
        """The id of the node that it was last started on."""
        self.emitted = 0
        """How many of its progress messages the pool has."""
        self.killed: float | None = None
        """When the pool asked for its end."""
        self.refused_by: set[str] = set()

    @property
    def key(self) -> str:
        return f"{self.asked.id}.{self.sent}"


class Dispatch:
    """All of it on the loop's thread. Callbacks of Session pass what they get to the loop."""

    def __init__(
        self,
        session: Session,
        loop: Caller,
        inspector: Inspector,
        folder: Path,
        emit: Callable[[Message], None],
    ) -> None:
        self.session, self.inspector, self.nodes = session, inspector, inspector.nodes
        self._loop, self._emit, self._folder = loop, emit, folder
        self._store = ArrayStore(folder)
        self._runs: dict[int, Run | None] = {}
        """By slot; None for a slot without a task."""
        self._full = time.monotonic()
        """When no task waited, or each slot had one that runs."""
        self._checked_at, self._delayed_at = 0.0, -DELAYED_AGAIN_SECONDS
        self._unplaceable: tuple[str, float, bool] | None = None
        """What no node can hold, since when, and whether the log says so."""
        self._gone: dict[str, str] = {}
        """Why the last nodes that are no members any more were lost, by name."""

    def begin(self) -> None:
        """Once the nodes have been inspected."""
        head = self.nodes.head
        self._sender = Sender(self.session, self._folder, int((head.store_bytes if head else 0) * KEPT_SHARE))
        self._slots = self.nodes.slots
        self._fingerprint = fingerprint(self.inspector.shared)
        self.inspector.watch(self._on_nodes)
        threading.Thread(target=self._follow_progress, daemon=True).start()

    def start(self, worker: int) -> None:
        """A slot needs no process, so it starts at once."""
        self._runs[worker] = None
        self._emit({"event": "worker_started", "worker": worker, "node": None})

    def give(self, request: TaskRequest) -> None:
        if request.worker in self._runs:  # The pool is told when a slot ends, and retries its task.
            run = self._runs[request.worker] = Run(request)
            self._send(run)

    def kill(self, worker: int) -> None:
        if worker not in self._runs:
            return
        run = self._runs[worker]
        if run is None:
            self._end_slot(worker, None, CANCELED)
        else:
            run.killed = time.monotonic()
            if run.task is not None:
                self._sender.cancel(run.key, run.task)

    def tick(self) -> None:
        """Raises ConnectionLostError, and ClusterError if tasks cannot be placed in time."""
        now = time.monotonic()
        self.inspector.tick()
        self._sender.tick()
        for worker, run in list(self._runs.items()):
            if run is not None and run.killed is not None and now - run.killed > CANCEL_SECONDS:
                self._end_slot(worker, run.node, f"{CANCELED}; its node does not answer")
        if now - self._checked_at >= CHECK_SECONDS:
            self._checked_at = now
            self._check_waiting(now)

    def _send(self, run: Run) -> None:
        run.sent += 1
        run.task, run.starts, run.node = None, 0, None
        run.request = request = self.nodes.fitted(run.asked)
        key = run.key
        only = next((node.id for node in self.nodes.members if node.name == request.node), None)
        if request.node is not None and only is None:
            self._end_slot(request.worker, None, f"the node {request.node} takes no tasks any more")
            return
        message = {
            "key": key,
            "engine": self.inspector.spec,
            "fingerprint": self._fingerprint,
            "task": request.text,
            "arrays": request.arrays,
        }
        self._sender.send(
            message,
            request,
            self.nodes.options_of(request),
            only,
            is_wanted=lambda: run.killed is None,
            taken=lambda task: self._loop.call(partial(self._on_taken, run, key, task)),
            done=lambda answer: self._loop.call(partial(self._on_answer, run, key, answer)),
        )

    def _on_taken(self, run: Run, key: str, task: Any) -> None:
        is_current = self._runs.get(run.asked.worker) is run and run.key == key
        if is_current:
            run.task = task
        if not is_current or run.killed is not None:
            self._sender.cancel(key, task)

    def _on_answer(self, run: Run, key: str, answer: Any) -> None:
        """What `run_task` returned, the exception in its place, or None for a task that the cluster never had."""
        if isinstance(answer, ConnectionError | ConnectionLostError) and not was_raised_on_node(answer):
            raise lost(answer)
        self._sender.forget(key)
        worker = run.asked.worker
        if self._runs.get(worker) is not run or run.key != key:
            return  # Its slot has ended, or it was sent again.
        if isinstance(answer, dict) and isinstance(answer.get("node"), str):
            run.node = answer["node"]
        refusal = read_refusal(answer)
        if run.killed is not None:
            self._end_slot(worker, run.node, CANCELED)
        elif isinstance(answer, TaskError) and not was_raised_on_node(answer):
            self._finish(worker, run, _event_of(answer))  # An array that cannot be read here.
        elif refusal is not None and run.node in self.nodes.nodes and run.node not in run.refused_by:
            run.refused_by.add(run.node)
            self.inspector.refuse(run.node, refusal)
            self._send(run)
        elif (read := read_answer(answer, run.request)) is not None:
            self._take(worker, run, read)
        else:
            # Ray has retried a task that ends with an exception.
            self._end_slot(worker, run.node, _ending_of(answer), MAX_STARTS if isinstance(answer, Exception) else 1)

    def _take(self, worker: int, run: Run, answer: Answer) -> None:
        self._tell_progress(run, 0, answer.updates)
        message = answer.message
        try:
            for ref, values in answer.arrays:
                self._store.write(ref, values)
        except TaskError as error:
            message = _event_of(error)
        self._finish(worker, run, message)

    def _finish(self, worker: int, run: Run, message: Message) -> None:
        self._runs[worker] = None
        self._emit({"id": run.asked.id, **message})

    def _end_slot(self, worker: int, node: str | None, reason: str, attempts: int = 1) -> None:
        """`node`: the id of the last one that ran the task; `attempts`: how often it was tried."""
        del self._runs[worker]
        name = None if node is None else self.nodes.name_of(node)
        ending = {"node": name, "reason": reason, "attempts": attempts}
        self._emit({"event": "worker_exited", "worker": worker, **ending})

    def _check_waiting(self, now: float) -> None:
        """Tasks on no node: none may be able to hold them, or have a free core."""
        runs = [run for run in self._runs.values() if run is not None and run.killed is None]
        waiting = [run for run in runs if run.node not in self.nodes.nodes]
        for run in waiting:
            # The largest node is another one than it was.
            fits_otherwise = not self.nodes.can_hold(run.request) and self.nodes.can_hold(self.nodes.fitted(run.asked))
            if fits_otherwise and run.task is not None:
                self._sender.cancel(run.key, run.task)
                self._send(run)
        unplaceable = next((run.request for run in waiting if not self.nodes.can_hold(run.request)), None)
        needs = "a core" if unplaceable is None else needs_of(unplaceable)
        self._check_unplaceable(needs if unplaceable or self.nodes.slots == 0 else None, unplaceable, now)
        running = sum(run.request.cpus for run in runs if run.node in self.nodes.nodes)
        if not waiting or running >= self.nodes.slots or self.nodes.slots == 0:
            self._full = now
        elif now - self._full > DELAYED_SECONDS and now - self._delayed_at > DELAYED_AGAIN_SECONDS:
            self._delayed_at = now
            message = f"a task waits for {needs_of(waiting[0].request)} to be free"
            self._emit({"event": "delayed", "id": waiting[0].asked.id, "message": message})

    def _check_unplaceable(self, needs: str | None, request: TaskRequest | None, now: float) -> None:
        if needs is None:
            self._unplaceable = None
            return
        if self._unplaceable is None or self._unplaceable[0] != needs:
            self._unplaceable = (needs, now, False)
        _, since, is_told = self._unplaceable
        if now - since > PLACEMENT_SECONDS:
            gone = [{"name": name, "reason": why} for name, why in self._gone.items()]
            data = {} if request is None else {"cpus": request.cpus, "gpus": request.gpus}
            memory = {"memory_bytes": request.memory} if request is not None and request.memory else {}
            words = "; ".join(f"{one['name']}: {one['reason']}" for one in gone)
            raise unavailable(
                f"no node of the cluster can hold a task that needs {needs}, for {PLACEMENT_SECONDS:.0f} s"
                f"{f' ({words})' if words else ''}",
                **data,
                **memory,
                lost=gone,
            )
        if now - since > DELAYED_SECONDS and not is_told:
            self._unplaceable = (needs, since, True)
            message = f"a task waits for a node that has {needs} (for {PLACEMENT_SECONDS:.0f} s at most)"
            self._emit({"event": "delayed", "message": message})

    def _on_nodes(self, added: list[str], gone: list[Message]) -> None:
        for node in gone:
            self._gone[node["name"]] = node["reason"]
        self._gone = dict([entry for entry in self._gone.items() if entry[0] not in added][-LISTED:])
        slots = self.nodes.slots
        if added or gone or slots != self._slots:
            self._slots = slots
            self._emit({"event": "slots", "slots": slots, "added": added[:LISTED], "lost": gone[:LISTED]})

    def _follow_progress(self) -> None:
        """On a thread of its own, since a head that does not answer blocks it."""
        try:
            while True:
                self._loop.call(partial(self._on_told, self.session.told(POLL_SECONDS)))
                time.sleep(POLL_PAUSE_SECONDS)
        except Exception as error:
            self._loop.call(partial(_raise, lost(error)))

    def _on_told(self, told: Any) -> None:
        runs = {run.key: (worker, run) for worker, run in self._runs.items() if run is not None}
        for key, node, first, updates in read_told(told):
            if key in runs:
                worker, run = runs[key]
                if first == 0 and not updates:
                    self._on_started(worker, run, node)
                self._tell_progress(run, first, updates)

    def _on_started(self, worker: int, run: Run, node: str) -> None:
        run.starts += 1
        run.node = node
        if self._runs.get(worker) is not run or run.killed is not None:
            return
        if run.starts > MAX_STARTS:
            self._sender.cancel(run.key, run.task)
            self._end_slot(worker, node, OVER_MEMORY, MAX_STARTS)
        elif run.starts > 1:
            message = f"its first attempt was lost, and it runs again on {self.nodes.name_of(node)}"
            self._emit({"event": "delayed", "id": run.asked.id, "message": message})

    def _tell_progress(self, run: Run, first: int, updates: list[Message]) -> None:
        """What no attempt has told yet; `updates` are one attempt's from the number `first` on."""
        if run.killed is not None or first > run.emitted:
            return
        fresh = updates[run.emitted - first :]
        run.emitted += len(fresh)
        for update in fresh:
            self._emit({**update, "id": run.asked.id, "event": "progress"})


def _event_of(error: TaskError) -> Message:
    return {"event": "error", "code": error.code, "message": error.message, "data": error.data}


def _ending_of(answer: Any) -> str:
    """Why a task has no answer, in words."""
    if not isinstance(answer, Exception):
        return "its node answered with something else than a result"
    cause = getattr(answer, "cause", None)  # Of a RayTaskError.
    if isinstance(cause, Exception) and type(cause).__name__ == "EngineDiedError":
        return sentence_of(cause)
    names = [kind.__name__ for kind in type(answer).__mro__]
    known = next((words for name, words in ENDINGS.items() if name in names), None)
    return known or f"it could not run: {sentence_of(answer)}"


def _raise(error: Exception) -> None:
    raise error
