"""Task `device`: the device that a job's networks are trained on."""

import torch

from mucast_engine.arrays import Message
from mucast_engine.failure import TaskError


def resolve_device(asked: str) -> Message:
    """`{"device": "cpu" | "cuda:N"}` for auto, cpu, cuda or cuda:N; auto takes a GPU where there is one.

    Raises TaskError `device_unavailable`: a job that asks for a GPU never runs on the CPU instead.
    """
    count = torch.cuda.device_count()
    if asked == "cpu" or (asked == "auto" and count == 0):
        return {"device": "cpu"}
    index = int(asked.partition(":")[2] or 0)
    if index < count:
        return {"device": f"cuda:{index}"}
    there = f"CUDA devices here: {count}" if torch.backends.cuda.is_built() else "this PyTorch has no CUDA"
    raise TaskError("device_unavailable", f"{asked} is not there ({there})", {"device": asked, "cuda_devices": count})
