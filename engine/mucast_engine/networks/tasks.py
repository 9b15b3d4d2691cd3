"""The tasks that need PyTorch, by name; the classical job never imports this module."""

from collections.abc import Callable

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.failure import TaskError
from mucast_engine.networks.device import resolve_device
from mucast_engine.networks.stack.task import train_stack
from mucast_engine.networks.train_joint import train_joint
from mucast_engine.networks.train_network import train_network


def run_network_task(task: Message, store: ArrayStore, progress: Callable[[Message], None]) -> Message:
    match task["task"]:
        case "device":
            return resolve_device(task["device"])
        case "train_network":
            return train_network(task, store, progress)
        case "train_stack":
            return train_stack(task, store, progress)
        case "train_joint":
            return train_joint(task, store, progress)
        case unknown:
            raise TaskError("internal", f"no task {unknown!r}")
