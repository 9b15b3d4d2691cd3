"""The gateway's session with a cluster through Ray Client, which connect.py has opened. All calls of Ray are here."""

import re
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from mucast_engine.cluster.fault import ConnectionLostError


class Session:
    """Ray's calls are untyped, and no type of Ray's leaves this class. Calls block unless they say otherwise."""

    def __init__(self, ray: Any) -> None:
        from ray import cloudpickle

        from mucast_engine.cluster import node, relay

        for module in (node, relay):
            cloudpickle.register_pickle_by_value(module)
        self._ray = ray
        # Ray runs a task again if its process, its node or its engine process is lost; a cancel is never retried.
        self._run_task = ray.remote(max_retries=1, retry_exceptions=True)(node.run_task)
        self._inspect = ray.remote(max_retries=0, num_cpus=0)(node.inspect_node)
        self._idle = ray.remote(max_retries=0, num_cpus=1)(node.node_id)
        self._relay_class = ray.remote(num_cpus=0)(relay.Relay)
        self._relay: Any = None
        self.version: str = ray.__version__

    def nodes(self) -> list[dict[str, Any]]:
        """Ray's own rows, dead nodes too."""
        rows: list[dict[str, Any]] = self._ray.nodes()
        return rows

    def start_relay(self, head: str) -> None:
        """On the head: if that is lost, so is the cluster. Returns at once."""
        self._relay = self._relay_class.options(scheduling_strategy=self._on_node(head)).remote()

    def head_variables(self, seconds: float) -> dict[str, str]:
        """`RAY_health_*` and `RAY_grpc_*` of the head's environment. Raises TimeoutError."""
        found: dict[str, str] = self._ray.get(self._relay.variables.remote(), timeout=seconds)
        return found

    def told(self, seconds: float) -> Any:
        """What tasks have told since the last call; waits up to `seconds` for something."""
        return self._ray.get(self._relay.poll.remote(seconds))

    def inspect(self, node: str, spec: dict[str, Any]) -> "Future[Any]":
        """What `inspect_node` returns on `node`."""
        found: Future[Any] = self._inspect.options(scheduling_strategy=self._on_node(node)).remote(spec).future()
        return found

    def demand(self) -> Any:
        """A task for one core that does nothing; it waits as long as the reference lives, and autoscalers see it."""
        return self._idle.remote()

    def put(self, array: Any) -> Any:
        """A reference to a copy of `array` in the head's object store, which lives as long as the reference."""
        return self._ray.put(array)

    def run(self, request: dict[str, Any], values: list[Any], options: dict[str, Any], node: str | None) -> Any:
        """Starts `run_task` with the references `values`; `options` are Ray's, `node` is the id of the only node."""
        where = {} if node is None else {"scheduling_strategy": self._on_node(node)}
        return self._run_task.options(name=f"mucast {request['key']}", **options, **where).remote(
            request, self._relay, *values
        )

    def watch(self, task: Any, done: Callable[[Any], None]) -> None:
        """Passes the answer or the exception to `done`, on a thread of Ray's."""
        task.future().add_done_callback(lambda future: done(answer_of(future)))

    def cancel(self, task: Any) -> None:
        """Has the process of the task killed; its answer is then an exception."""
        self._ray.cancel(task, force=True, recursive=False)

    def close(self) -> None:
        """Leaves; the cluster then ends what this session has there."""
        self._ray.shutdown()

    def _on_node(self, node: str) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(node_id=node, soft=False)


def answer_of(future: "Future[Any]") -> Any:
    """The result, or the exception in its place."""
    return future.exception() or future.result()


def lost(error: object) -> ConnectionLostError:
    """With what gRPC says of it, which Ray Client wraps in the name of a class and all fields of an answer."""
    said = " ".join(str(error).split())
    details = re.search(r'details = "(.+?)"( debug_error_string|>|$)', said)
    return ConnectionLostError((details[1] if details else said)[:400])
