"""How many networks are trained at once: a fixed bound, so that no result depends on the available GPU."""

import math

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from mucast_engine.networks.architectures import Network
from mucast_engine.networks.stack.network import StackedNetwork
from mucast_engine.networks.stack.tickers import PREDICTED_TOGETHER

# What even a small GPU has to spare beside its display, PyTorch's kernels and the graphs' own pools.
STACK_BYTES = 2 << 30
# Weights, those of the last step, their average and the best, gradient, two moments, and the temporary values of the
# backward pass and the optimiser.
COPIES_OF_WEIGHTS = 14
# What the backward pass keeps, and as much again for its temporary values.
BACKWARD = 2
# A mask, its bits, and their int64 indices.
BYTES_OF_A_MASK = 4 + 1 + 2 + 8
FLOAT_BYTES = 4


def networks_at_once(network: Network, *, rows: int, features: int, lookback: int, batch_size: int) -> int:
    """How many networks fit into STACK_BYTES, at least 1. `rows` of the longest ticker; `batch_size` windows per step.

    A step is simulated on the meta device, whose tensors have a size and no numbers.
    """
    batch = max(batch_size, PREDICTED_TOGETHER)
    weights = sum(weight.numel() for weight in network.parameters())
    masks = sum(math.prod(shape) for shape in network.mask_shapes(batch))
    kept = bytes_kept(network, weights, (1, batch, lookback, features))
    floats = COPIES_OF_WEIGHTS * weights + rows * features + batch * lookback * features
    one = FLOAT_BYTES * floats + BACKWARD * kept + BYTES_OF_A_MASK * masks
    return max(1, STACK_BYTES // one)


def bytes_kept(network: Network, weights: int, windows: tuple[int, int, int, int]) -> int:
    """Bytes that the forward pass of one network keeps for its backward pass, without its weights."""
    meta = torch.device("meta")
    stack = StackedNetwork(network, torch.empty(1, weights, device=meta))
    masks = [torch.empty(1, *shape, device=meta) for shape in network.mask_shapes(windows[1])]
    storages: dict[int, int] = {stack.values.untyped_storage()._cdata: 0}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages.setdefault(storage._cdata, storage.nbytes())
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        last = stack(torch.empty(windows, device=meta), masks)
    del last
    return sum(storages.values())
