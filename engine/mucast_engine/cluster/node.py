"""What Ray runs on a node, in worker processes of its own.

The gateway sends this module by value, so it imports the standard library alone: a node without the engine, or with
another one, can say so.
"""

import os
import sys
from typing import Any


def inspect_node(libraries: list[str]) -> dict[str, Any]:
    """Imports the libraries and describes all that decides bytes."""
    _show_gpus()
    from mucast_engine.cluster.node_engine import greet

    return greet(tuple(libraries))


def run_task(request: dict[str, Any], mailbox: Any, *values: Any) -> dict[str, Any]:
    """Runs `request["task"]` on `values`, the arrays that `request["refs"]` name, in that order.

    Returns what `run` returns, or `{"greeting", "node"}` if this node has other facts than `request["facts"]`.
    """
    import ray

    def tell(first: int, updates: list[Any]) -> None:
        # It never waits for Ray: Ray considers a task that waits for it idle, and lends its core to the next task.
        mailbox.put_nowait.remote((request["id"], node, first, updates))

    node = ray.get_runtime_context().get_node_id()
    tell(0, [])
    _show_gpus()
    from mucast_engine.cluster.node_engine import greet, run
    from mucast_engine.cluster.nodes import facts_of

    greeting = greet(tuple(request["libraries"]))
    if facts_of(greeting) != request["facts"]:
        return {"greeting": greeting, "node": node}
    return run(request["task"], request["refs"], values, tell)


def _show_gpus() -> None:
    """The libraries of this process see the GPUs that Ray has reserved, and none if Ray knows of none."""
    import ray

    if "torch" not in sys.modules:
        gpus = ray.get_runtime_context().get_accelerator_ids()["GPU"]
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(sorted(gpus))
