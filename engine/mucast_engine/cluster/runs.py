"""The tasks that run on the cluster, the attempts at each, and what time says about them.

Times are of one clock, in seconds.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

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

    def __init__(self, key: str, now: float, avoid: frozenset[str]) -> None:
        self.key = key
        self.avoid = avoid
        self.started = now
        self.handle: Any = None
        """Ray's, once it has taken the task."""
        self.node: str | None = None
        """The id of the node that it runs on, once its supervisor has told it."""
        self.begun: float | None = None
        self.heard = now

    def hear(self, node: str, now: float) -> None:
        self.node = node
        self.begun = now if self.begun is None else self.begun
        self.heard = now


class Run:
    """A task in a slot."""

    def __init__(self, request: TaskRequest, now: float) -> None:
        self.request = request
        self.given = now
        self.attempts: dict[str, Attempt] = {}
        self.started_attempts = 0
        self.emitted = 0
        """How many of its progress messages the pool has got."""
        self.killed: float | None = None
        """When the pool asked for its end."""
        self.is_delayed = False
        self.unplaceable_since: float | None = None

    def attempt(self, now: float, avoid: frozenset[str] = frozenset()) -> Attempt:
        self.started_attempts += 1
        attempt = Attempt(f"{self.request.id}.{self.started_attempts}", now, avoid)
        self.attempts[attempt.key] = attempt
        return attempt

    @property
    def begun(self) -> float | None:
        return min((attempt.begun for attempt in self.attempts.values() if attempt.begun is not None), default=None)

    def new_updates(self, first: int, updates: list[Message]) -> list[Message]:
        """Those that no attempt has told yet; `updates` are one attempt's from the number `first` on."""
        fresh = updates[max(0, self.emitted - first) :] if first <= self.emitted else []
        self.emitted += len(fresh)
        return fresh


class Runs:
    """By the number of their slot; a slot without a task is None."""

    def __init__(self) -> None:
        self.slots: dict[int, Run | None] = {}
        self._durations: dict[str, list[float]] = {}

    def __iter__(self) -> Iterator[tuple[int, Run]]:
        return iter([(worker, run) for worker, run in self.slots.items() if run is not None])

    def of(self, key: str) -> tuple[int, Run] | None:
        """That of an attempt; None where it is over, or was given up."""
        for worker, run in self:
            if key in run.attempts:
                return worker, run
        return None

    def silent(self, now: float) -> list[tuple[Run, Attempt]]:
        """Attempts whose nodes have told nothing for too long."""
        return [
            (run, attempt)
            for _, run in self
            for attempt in run.attempts.values()
            if attempt.begun is not None and now - attempt.heard > SILENT_SECONDS
        ]

    def on_node(self, node: str) -> list[tuple[Run, Attempt]]:
        return [(run, attempt) for _, run in self for attempt in run.attempts.values() if attempt.node == node]

    def used(self) -> float:
        """The slots that attempts take."""
        return float(sum(run.request.cpus for _, run in self for _ in run.attempts))

    def note_done(self, run: Run, now: float) -> None:
        """Keeps how long the last hundred of a kind took."""
        if run.begun is not None:
            durations = self._durations.setdefault(run.request.kind, [])
            durations.append(now - run.begun)
            del durations[:-100]

    def slowest(self, now: float, idle: float) -> Run | None:
        """The task to start a second time while `idle` slots have nothing to do: the one that runs longest, once."""
        candidates = [
            (run.begun, run)
            for _, run in self
            if run.begun is not None
            and run.killed is None
            and len(run.attempts) == 1
            and run.request.gpus == 0
            and run.request.node is None
            and run.request.cpus <= idle
            and now - run.begun > self._patience(run.request.kind)
        ]
        return min(candidates, key=lambda candidate: candidate[0])[1] if candidates else None

    def _patience(self, kind: str) -> float:
        durations = sorted(self._durations.get(kind, []))
        if not durations:
            return float("inf")
        return max(SLOW_SECONDS, SLOW_FACTOR * durations[len(durations) // 2])


class Death(NamedTuple):
    """An attempt that ended without an answer, until it is known whether its node was lost with it."""

    worker: int
    attempt: Attempt
    reason: str
    at: float
