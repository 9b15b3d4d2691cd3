"""CUDA graphs: hundreds of small operations recorded once and then started as one."""

from collections.abc import Callable

import torch

# As many as PyTorch's own make_graphed_callables takes.
WARM_UPS = 3


def replayable(work: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """`work` itself, or on CUDA a replay of it.

    `work` reads and writes tensors that stay where they are, never waits for the device, and may be called a few
    times before it counts. The current CUDA device is `device`.
    """
    if device.type != "cuda":
        return work
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UPS):
            work()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay
