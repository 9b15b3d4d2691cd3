"""The tasks that need PyTorch, by name; the classical job never imports this module."""

from collections.abc import Callable
from typing import Literal

import torch

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.cpu_only import is_cpu_only
from mucast_engine.failure import TaskError, unknown
from mucast_engine.networks.joint import train_joint
from mucast_engine.networks.stack.training import train_stack
from mucast_engine.networks.ticker_network import train_network

NetworkTaskKind = Literal["device", "train_network", "train_stack", "train_joint"]

# Numbers of a task that may have a fraction.
FRACTIONS = {"network": ("dropout",), "training": ("learning_rate", "weight_decay", "grad_clip")}

# PyTorch's message on a CPU, where it has no exception type for it.
NO_MEMORY = "can't allocate memory"


def run_network_task(task: Message, store: ArrayStore, progress: Callable[[Message], None]) -> Message:
    """Raises TaskError of the task; `fit_failed` if the memory does not suffice."""
    task, kind = _with_floats(task), task["task"]
    try:
        return _run(kind, task, store, progress)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError | torch.OutOfMemoryError) or NO_MEMORY in str(error):
            advice = "lower batch_size, lookback or the sizes of the network"
            raise TaskError("fit_failed", f"the memory of {task['device']} does not suffice; {advice}") from error
        raise


def _run(kind: NetworkTaskKind, task: Message, store: ArrayStore, progress: Callable[[Message], None]) -> Message:
    match kind:
        case "device":
            return resolve_device(task["device"])
        case "train_network":
            return train_network(task, store, progress)
        case "train_stack":
            return train_stack(task, store, progress)
        case "train_joint":
            return train_joint(task, store, progress)
        case _:
            raise unknown("task", kind)


def _with_floats(task: Message) -> Message:
    """`task` with floats for numbers that may have a fraction.

    JSON writes 1.0 as `1` and 1e19 as `10000000000000000000`, Python reads both as int, and PyTorch accepts none longer
    than 64 bits.
    """
    read = {**task, "networks": [_with_floats(own) for own in task["networks"]]} if "networks" in task else {**task}
    for part, names in FRACTIONS.items():
        if part in task:
            read[part] = task[part] | {name: float(task[part][name]) for name in names}
    return read


def resolve_device(asked: str) -> Message:
    """`{"device": "cpu" | "cuda:N"}` for auto, cpu, cuda or cuda:N; auto uses a GPU if there is one.

    Raises TaskError `device_unavailable`: a job that requests a GPU never runs on the CPU instead.
    """
    count = 0 if is_cpu_only() else torch.cuda.device_count()
    if asked == "cpu" or (asked == "auto" and count == 0):
        return {"device": "cpu"}
    index = int(asked.partition(":")[2] or 0)
    if index < count:
        return {"device": f"cuda:{index}"}
    here = f"CUDA devices here: {count}" if torch.backends.cuda.is_built() else "this PyTorch has no CUDA"
    if is_cpu_only():
        here = "this environment is for CPUs only; `mucast setup --dl` installs the one for GPUs"
    message = f"{asked} is not there ({here})"
    raise TaskError("device_unavailable", message, {"device": asked, "cuda_devices": count})
