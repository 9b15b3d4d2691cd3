"""What becomes of a task that no node has begun: for want of a node that can hold it, or of one that answers."""

from collections.abc import Callable
from typing import Protocol

from mucast_engine.arrays import Message
from mucast_engine.cluster.fault import unavailable
from mucast_engine.cluster.hearing import Hearing
from mucast_engine.cluster.muster import Muster
from mucast_engine.cluster.placement import avoided, fitted, needs
from mucast_engine.cluster.runs import DELAYED_SECONDS, PLACEMENT_SECONDS, Attempt, Run
from mucast_engine.cluster.signs import Signs

# No node has begun a task for so long: those that give no sign either are taken to be frozen.
STUCK_SECONDS = 75.0
# Between two lines of the log about tasks that wait for a core.
DELAYED_AGAIN_SECONDS = 60.0


class Slots(Protocol):
    """What the dispatch does with the attempts at a task."""

    hearing: Hearing

    def send(self, run: Run) -> None:
        """Starts one more attempt."""
        ...

    def withdraw_all(self, run: Run) -> None:
        """Ends every attempt; none of them is waited for."""
        ...

    def replace(self, run: Run, attempt: Attempt) -> None:
        """Ends `attempt`, and starts another in its place."""
        ...

    def end_slot(self, worker: int, node: str | None, reason: str) -> None: ...


class WaitingTasks:
    """All of it on the loop's thread."""

    def __init__(self, muster: Muster, slots: Slots, signs: Signs, emit: Callable[[Message], None]) -> None:
        self._muster, self._slots, self._signs, self._emit = muster, slots, signs, emit
        self._delayed_at = -DELAYED_AGAIN_SECONDS

    def look_after(self, worker: int, run: Run, was_full: float, now: float) -> None:
        """`was_full`: when every slot was last known to be at work, since the tasks ahead have to wait then.

        Raises ClusterError where no node could hold the task for PLACEMENT_SECONDS.
        """
        request, membership = run.request, self._muster.membership
        if request.node is not None and all(node.name != request.node for node in membership.members):
            self._slots.withdraw_all(run)
            self._slots.end_slot(worker, None, f"the node {request.node} takes no tasks any more")
        elif membership.can_hold(request.cpus, request.gpus, request.memory, besides=avoided(membership, request)):
            run.unplaceable_since = None
            for attempt in list(run.attempts.values()):
                if attempt.waits_since is not None:
                    self._look_after_unbegun(run, attempt, max(attempt.waits_since, was_full), now)
        elif self._fits_otherwise(run):
            self._slots.withdraw_all(run)
            self._slots.send(run)
        else:
            self._wait_for_node(run, now)

    def _fits_otherwise(self, run: Run) -> bool:
        """The largest node is another one than it was."""
        membership = self._muster.membership
        now = fitted(membership, run)
        besides = avoided(membership, now)
        return now != run.request and membership.can_hold(now.cpus, now.gpus, now.memory, besides=besides)

    def _wait_for_node(self, run: Run, now: float) -> None:
        request = run.request
        if run.unplaceable_since is None:
            run.unplaceable_since = now
        waited = now - run.unplaceable_since
        if waited > PLACEMENT_SECONDS:
            raise unavailable(
                f"no node of the cluster can hold a task that needs {needs(request)}, for {PLACEMENT_SECONDS:.0f} s",
                cpus=request.cpus,
                gpus=request.gpus,
                **({"memory_bytes": request.memory} if request.memory else {}),
            )
        if waited > DELAYED_SECONDS and not run.is_delayed:
            run.is_delayed = True
            message = f"a task waits for a node that has {needs(request)} (for {PLACEMENT_SECONDS:.0f} s at most)"
            self._emit({"event": "delayed", "id": request.id, "message": message})

    def _look_after_unbegun(self, run: Run, attempt: Attempt, since: float, now: float) -> None:
        """Ray has the attempt, and some node could hold it."""
        request, membership = run.request, self._muster.membership
        if now - since > DELAYED_SECONDS:
            self._signs.ask([node.id for node in membership.members])
            self._say_that_it_waits(run, now)
        if now - since > STUCK_SECONDS and not self._slots.hearing.is_deaf:
            for node in self._signs.silent([node.id for node in membership.members], since):
                self._muster.leave_out(node, "it does not answer")
            attempt.waits_since = now
        # Ray still takes it to nodes that were left out since, and never to those that were admitted again.
        is_held_back = not membership.can_hold(request.cpus, request.gpus, request.memory, besides=attempt.avoided)
        if is_held_back or (attempt.waits_since == now and not avoided(membership, request) <= attempt.avoided):
            self._slots.replace(run, attempt)

    def _say_that_it_waits(self, run: Run, now: float) -> None:
        if run.is_delayed or now - self._delayed_at < DELAYED_AGAIN_SECONDS:
            return
        run.is_delayed, self._delayed_at = True, now
        words = (
            f"a task waits for {needs(run.request)} to be free; a node that does not answer for {STUCK_SECONDS:.0f} s "
            "gets no more tasks"
        )
        self._emit({"event": "delayed", "id": run.request.id, "message": words})
