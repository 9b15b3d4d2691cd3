"""The tasks that run on the cluster, the attempts at each, and what time says about them.

Times are of one clock, in seconds.
"""

import hashlib
import threading
from collections.abc import Iterator
from typing import Any

from mucast_engine.arrays import Message
from mucast_engine.cluster.requests import TaskRequest

# A task whose node has told nothing for so long runs elsewhere. Its supervisor tells something every 5 s, and ends
# itself after 60 s of silence, so that no two of one task go on.
SILENT_SECONDS = 75.0
# How long a task that no node can hold waits for a node that can, and when the log says that it waits.
PLACEMENT_SECONDS = 300.0
DELAYED_SECONDS = 10.0
# A second attempt begins where other slots are idle and a task takes longer than others of its kind: by this factor,
# and by this much.
SLOW_FACTOR = 2.0
SLOW_SECONDS = 10.0


class Attempt:
    """One start of a task on the cluster."""

    def __init__(self, key: str, now: float, avoided: frozenset[str]) -> None:
        self.key = key
        self.avoided = avoided
        """The ids of nodes that Ray was told not to run it on."""
        self.handle: Any = None
        """Ray's, once it has taken the task."""
        self.waits_since: float | None = None
        """Since Ray has it, or since all nodes have last shown that they answer."""
        self.node: str | None = None
        """The id of the node that it runs on, once its supervisor has told it."""
        self.begun: float | None = None
        self.heard = now
        self.is_withdrawn = False
        self._is_claimed = False
        self._lock = threading.Lock()

    def claim(self) -> bool:
        """Of the sender's thread, before it takes the attempt to the cluster: False where it is withdrawn."""
        with self._lock:
            self._is_claimed = not self.is_withdrawn
            return self._is_claimed

    def withdraw(self) -> bool:
        """Of the loop's: False where the sender has claimed the attempt, and then the cluster has it, or will."""
        with self._lock:
            self.is_withdrawn = not self._is_claimed
            return self.is_withdrawn

    def take(self, handle: Any, now: float) -> None:
        """The cluster has it."""
        self.handle = handle
        self.waits_since = now

    def hear(self, node: str, now: float) -> bool:
        """Takes note of a message of `node`; False where another one has the attempt."""
        if self.node not in (None, node):
            return False
        self.node = node
        self.begun = now if self.begun is None else self.begun
        self.heard = now
        return True


class Run:
    """A task in a slot."""

    def __init__(self, asked: TaskRequest, needs_whole_node: bool = False) -> None:
        self.asked = asked
        """As the pool gave it."""
        self.needs_whole_node = needs_whole_node
        self.held_until: float | None = None
        """It is sent then."""
        self.request = asked
        """With the cores of a node that is there."""
        self.attempts: dict[str, Attempt] = {}
        self.started_attempts = 0
        self.emitted = 0
        """How many of its progress messages the pool has got."""
        self.killed: float | None = None
        """When the pool asked for its end."""
        self.is_doubled = False
        """Whether it has had its second start: where that is lost, the first goes on alone."""
        self.refused_by: set[str] = set()
        """The ids of nodes whose engine is not that of the others."""
        self.is_delayed = False
        self.arrays_lost = 0
        """How many attempts found an array gone from the cluster."""
        self.unplaceable_since: float | None = None

    def attempt(self, now: float, avoided: frozenset[str] = frozenset()) -> Attempt:
        self.started_attempts += 1
        attempt = Attempt(f"{self.request.id}.{self.started_attempts}", now, avoided)
        self.attempts[attempt.key] = attempt
        return attempt

    @property
    def begun(self) -> float | None:
        """When the first of its attempts began."""
        begun = [attempt.begun for attempt in self.attempts.values() if attempt.begun is not None]
        return min(begun) if begun else None

    def new_updates(self, first: int, updates: list[Message]) -> list[Message]:
        """Those that no attempt has told yet; `updates` are one attempt's from the number `first` on."""
        fresh = updates[max(0, self.emitted - first) :] if first <= self.emitted else []
        self.emitted += len(fresh)
        return fresh


class Runs:
    """By the number of their slot."""

    def __init__(self) -> None:
        self._slots: dict[int, Run | None] = {}
        """None for a slot without a task."""
        self._workers: dict[str, int] = {}
        """The slots of tasks, by the first part of the keys of their attempts."""
        self._durations: dict[str, list[float]] = {}
        self._over_memory: set[bytes] = set()
        """Digests of the tasks that Ray ended for want of memory, until they are given again."""

    def __iter__(self) -> Iterator[tuple[int, Run]]:
        return iter([(worker, run) for worker, run in self._slots.items() if run is not None])

    def __contains__(self, worker: int) -> bool:
        """Whether there is such a slot."""
        return worker in self._slots

    def __getitem__(self, worker: int) -> Run | None:
        """The task in a slot; None where it has none."""
        return self._slots[worker]

    def give(self, worker: int, run: Run) -> None:
        """Has it in a slot from now on."""
        self._slots[worker] = run
        self._workers[str(run.asked.id)] = worker

    def free(self, worker: int) -> None:
        """Leaves a slot, which may be new, without a task."""
        self.end(worker)
        self._slots[worker] = None

    def end(self, worker: int) -> None:
        """Takes a slot away, with its task."""
        run = self._slots.pop(worker, None)
        if run is not None:
            self._workers.pop(str(run.asked.id), None)

    def of(self, key: str) -> tuple[int, Run] | None:
        """That of an attempt; None where it is over, or was given up."""
        worker = self._workers.get(key.partition(".")[0])
        run = None if worker is None else self._slots.get(worker)
        return None if worker is None or run is None or key not in run.attempts else (worker, run)

    def silent(self, now: float) -> list[tuple[Run, Attempt]]:
        """Attempts whose nodes have told nothing for too long."""
        return [
            (run, attempt)
            for _, run in self
            for attempt in run.attempts.values()
            if attempt.begun is not None and now - attempt.heard > SILENT_SECONDS
        ]

    def restart_silence(self, now: float) -> None:
        """What nodes may have told until now could not be heard."""
        for _, run in self:
            for attempt in run.attempts.values():
                attempt.heard = now
                if attempt.waits_since is not None:
                    attempt.waits_since = now

    def on_node(self, node: str) -> list[tuple[Run, Attempt]]:
        return [(run, attempt) for _, run in self for attempt in run.attempts.values() if attempt.node == node]

    def unbegun(self) -> list[tuple[Run, Attempt]]:
        """Attempts that Ray has, and that no node has begun."""
        return [
            (run, attempt)
            for _, run in self
            for attempt in run.attempts.values()
            if attempt.handle is not None and attempt.begun is None and run.killed is None
        ]

    def running(self) -> float:
        """The slots that are known to be at work."""
        begun = [run for _, run in self for attempt in run.attempts.values() if attempt.begun is not None]
        return float(sum(run.request.cpus for run in begun))

    def used(self) -> float:
        """The slots that attempts take, or wait for."""
        return float(sum(run.request.cpus for _, run in self for _ in run.attempts))

    def note_done(self, run: Run, now: float) -> None:
        """Keeps how long the last hundred of a kind took."""
        if run.begun is not None:
            durations = self._durations.setdefault(run.request.kind, [])
            durations.append(now - run.begun)
            del durations[:-100]

    def note_over_memory(self, request: TaskRequest) -> None:
        self._over_memory.add(_digest(request))

    def take_over_memory(self, request: TaskRequest) -> bool:
        """Whether the task was noted so, once."""
        digest = _digest(request)
        found = digest in self._over_memory
        self._over_memory.discard(digest)
        return found

    def slowest(self, now: float, idle: float) -> Run | None:
        """The task to start a second time while `idle` slots have nothing to do: the one that runs longest, once."""
        patience = {kind: _patience(durations) for kind, durations in self._durations.items()}
        candidates = [
            (run.begun, run)
            for _, run in self
            if run.request.kind in patience
            and run.begun is not None
            and run.killed is None
            and len(run.attempts) == 1
            and not run.is_doubled
            and run.request.gpus == 0
            and run.request.node is None
            and run.request.cpus <= idle
            and now - run.begun > patience[run.request.kind]
        ]
        return min(candidates, key=lambda candidate: candidate[0])[1] if candidates else None


def _patience(durations: list[float]) -> float:
    return max(SLOW_SECONDS, SLOW_FACTOR * sorted(durations)[len(durations) // 2])


def _digest(request: TaskRequest) -> bytes:
    """Of a task, whichever attempt of the pool it is: no two name the same file for their predictions."""
    return hashlib.sha256(request.text).digest()
