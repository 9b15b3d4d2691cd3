"""A cluster that has no node for tasks any more: it is given no task then, so no task's own wait ends the job."""

from collections.abc import Callable

from mucast_engine.arrays import Message
from mucast_engine.cluster.fault import unavailable
from mucast_engine.cluster.nodes import Membership
from mucast_engine.cluster.runs import DELAYED_SECONDS, PLACEMENT_SECONDS

LISTED = 5


class Depletion:
    """Waits for a node as long as a task does that no node can hold."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._since: float | None = None
        self._is_said = False
        self._reasons: dict[str, str] = {}

    def note_lost(self, lost: list[Message]) -> None:
        """`name` and `reason` of nodes that get no more tasks."""
        for node in lost:
            self._reasons.pop(node["name"], None)
            self._reasons[node["name"]] = node["reason"]
        self._reasons = dict(list(self._reasons.items())[-LISTED:])

    def check(self, membership: Membership, now: float) -> None:
        """Raises ClusterError once there has been no slot for too long."""
        if membership.slots > 0:
            self._since, self._is_said = None, False
            return
        if self._since is None:
            self._since = now
        waited = now - self._since
        lost = [{"name": name, "reason": reason} for name, reason in self._reasons.items()]
        words = "; ".join(f"{name}: {reason}" for name, reason in self._reasons.items())
        if waited > PLACEMENT_SECONDS:
            raise unavailable(
                f"the cluster has had no node for tasks, for {PLACEMENT_SECONDS:.0f} s{f' ({words})' if words else ''}",
                lost=lost,
            )
        if waited > DELAYED_SECONDS and not self._is_said:
            self._is_said = True
            self._say(f"the cluster has no node for tasks; the job waits for one, {PLACEMENT_SECONDS:.0f} s at most")
