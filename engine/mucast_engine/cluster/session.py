"""The gateway's session with a cluster through Ray's client, which connect.py has opened: all calls of Ray from here.

Ray's calls count as untyped here, and no type of theirs leaves it.
"""

import re
from collections.abc import Callable
from typing import Any

from mucast_engine.cluster.fault import ConnectionLostError


class Session:
    """Calls that can block say so; the others return at once. Callbacks run on a thread of Ray's."""

    def __init__(self, ray: Any) -> None:
        from ray import cloudpickle

        from mucast_engine.cluster import node, relay

        for module in (node, relay):
            cloudpickle.register_pickle_by_value(module)
        self._ray = ray
        self._run_task = ray.remote(max_retries=0)(node.run_task)
        self._inspect = ray.remote(max_retries=0, num_cpus=0)(node.inspect_node)
        self._ping = ray.remote(max_retries=0, num_cpus=0)(node.node_id)
        self._relay_class = ray.remote(num_cpus=0)(relay.Relay)
        self._relay: Any = None
        self.version: str = ray.__version__

    def nodes(self) -> list[dict[str, Any]]:
        """Ray's own rows, dead nodes too. Blocks for a round trip."""
        rows: list[dict[str, Any]] = self._ray.nodes()
        return rows

    def start_relay(self, head: str) -> None:
        """On the head: where that is lost, so is the cluster."""
        strategy = self._on_node(head)
        self._relay = self._relay_class.options(scheduling_strategy=strategy).remote()

    def poll(self, seconds: float, done: Callable[[Any], None]) -> None:
        """Hands `done` what tasks have told, or the exception of a lost relay. Blocks until Ray has taken the call."""
        self.watch(self._relay.poll.remote(seconds), done)

    def reach(self, places: dict[str, tuple[str, int]], done: Callable[[Any], None]) -> None:
        """Hands `done` what the head finds at each address and port, as `Relay.reach` tells it, or the exception of a
        lost relay. Blocks until Ray has taken the call.
        """
        self.watch(self._relay.reach.remote(places), done)

    def inspect(self, node: str, spec: dict[str, Any], done: Callable[[Any], None]) -> None:
        """Hands `done` what `inspect_node` returns on `node`. Blocks until Ray has taken the call."""
        self.watch(self._inspect.options(scheduling_strategy=self._on_node(node)).remote(spec), done)

    def ping(self, node: str, done: Callable[[Any], None]) -> None:
        """Hands `done` an answer of `node`, or an exception. Blocks until Ray has taken the call."""
        self.watch(self._ping.options(scheduling_strategy=self._on_node(node)).remote(), done)

    def demand(self) -> Any:
        """A task for one core that does nothing; it waits as long as the reference lives, and autoscalers see it."""
        return self._ping.options(num_cpus=1).remote()

    def put(self, array: Any) -> Any:
        """A reference to a copy of `array` in the cluster, which lives as long as the reference. Blocks."""
        return self._ray.put(array)

    def run(
        self, request: dict[str, Any], values: list[Any], cpus: float, gpus: float, memory: int, avoid: list[str]
    ) -> Any:
        """Starts `run_task` with the references `values` on no node of `avoid`. `memory`: bytes."""
        options: dict[str, Any] = {"num_cpus": cpus, "name": f"mucast {request['key']}"}
        if gpus:
            options["num_gpus"] = gpus
        if memory:
            options["memory"] = memory
        if avoid:
            options["label_selector"] = {"ray.io/node-id": f"!in({','.join(avoid)})"}
        return self._run_task.options(**options).remote(request, self._relay, *values)

    def watch(self, task: Any, done: Callable[[Any], None]) -> None:
        """Hands `done` the answer, or the exception, and keeps `task` until then. Blocks until Ray has taken it."""
        kept = [task]

        def complete(answer: Any) -> None:
            kept.clear()
            done(answer)

        task._on_completed(complete)

    def cancel(self, task: Any) -> None:
        """Has the process of the task killed; its exception says when that is done. Blocks for a round trip."""
        self._ray.cancel(task, force=True, recursive=False)

    def close(self) -> None:
        """Leaves, and the cluster ends what this session has there. Blocks."""
        self._ray.shutdown()

    def _on_node(self, node: str) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(node_id=node, soft=False)


def lost(error: object) -> ConnectionLostError:
    """With what gRPC says of it, which Ray's client hands on within the name of a class and all fields of an answer."""
    said = " ".join(str(error).split())
    details = re.search(r'details = "(.+?)"( debug_error_string|>|$)', said)
    return ConnectionLostError((details[1] if details else said)[:400])
