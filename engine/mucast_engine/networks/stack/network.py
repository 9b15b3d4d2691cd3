"""S networks of one shape as one: their weights are the rows of a matrix, their forward passes one batched pass."""

import math
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from mucast_engine.networks.architectures import Network, parameter_count
from mucast_engine.networks.encoders import LstmEncoder
from mucast_engine.networks.losses import Labels, LossName, make_loss
from mucast_engine.networks.stack.samples import PREDICTED_TOGETHER

# What even a small GPU has to spare beside its display, PyTorch's kernels and the graphs' own pools. A fixed bound, so
# that no result depends on the available GPU.
STACK_BYTES = 2 << 30
# Weights, those of the last step, their average and the best, gradient, two moments, and the temporary values of the
# backward pass and the optimiser.
COPIES_OF_WEIGHTS = 14
# What the backward pass keeps, and as much again for its temporary values.
BACKWARD = 2
# A mask, its bits, and their int64 indices.
BYTES_OF_A_MASK = 4 + 1 + 2 + 8
FLOAT_BYTES = 4

N = TypeVar("N", bound=nn.Module)


class StackedNetwork:
    """`values` (S, p), each row in the order of the weights of `network`, which only provides its structure."""

    def __init__(self, network: nn.Module, values: Tensor) -> None:
        self.values = values.requires_grad_()
        self._network = network
        self._shapes = {name: tuple(weight.shape) for name, weight in network.named_parameters()}
        self._sizes = [weight.numel() for weight in network.parameters()]

    def __call__(self, windows: Tensor, masks: Sequence[Tensor]) -> Tensor:
        """Windows (S, n, lookback, features) and masks (S, ...), none in prediction, to scaled returns (S, n)."""
        pieces = self.values.split(self._sizes, dim=1)
        weights = {
            name: piece.unflatten(1, shape) for (name, shape), piece in zip(self._shapes.items(), pieces, strict=True)
        }

        def forward(weights: dict[str, Tensor], windows: Tensor, masks: list[Tensor]) -> Tensor:
            predictions: Tensor = functional_call(self._network, weights, (windows, iter(masks) if masks else None))
            return predictions

        # The only form of attention whose parts can be stacked on every device.
        with sdpa_kernel(SDPBackend.MATH):
            return vmap(forward)(weights, windows, list(masks))


def stacked_losses(name: LossName, predictions: Tensor, labels: Labels, means: Tensor) -> Tensor:
    """The loss (S) of each network on its own labels (S, n), 0 if it has none. `means` (S): see make_loss."""

    def loss(predictions: Tensor, values: Tensor, known: Tensor, mean: Tensor) -> Tensor:
        measure, own = make_loss(name, mean), Labels(values, known)
        denominator = measure.denominator(own)
        return measure.total(predictions, own) / (denominator + (denominator == 0))

    return vmap(loss)(predictions, *labels, means)


class LstmCells(nn.Module):
    """The function of a one-layer nn.LSTM that takes the rows first, on weights of the same names."""

    weight_ih_l0: Tensor
    weight_hh_l0: Tensor
    bias_ih_l0: Tensor
    bias_hh_l0: Tensor

    def __init__(self, layer: nn.LSTM) -> None:
        super().__init__()
        for name, weight in layer.named_parameters():
            self.register_parameter(name, nn.Parameter(weight.detach()))
        self._hidden = layer.hidden_size

    def forward(self, rows: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Rows (length, n, features) to states (length, n, hidden) and the last state and cell (1, n, hidden)."""
        inputs = nn.functional.linear(rows, self.weight_ih_l0, self.bias_ih_l0 + self.bias_hh_l0)
        state = cell = inputs.new_zeros(inputs.shape[1], self._hidden)
        states = []
        for row in inputs.unbind():
            gates = row + state @ self.weight_hh_l0.t()
            enter, forget, candidate, leave = gates.chunk(4, dim=-1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(candidate)
            state = torch.sigmoid(leave) * torch.tanh(cell)
            states.append(state)
        return torch.stack(states), (state[None], cell[None])


def unfused(network: N) -> N:
    """`network` with cells in place of its LSTM layers; names and order of the weights stay."""
    for module in network.modules():
        if isinstance(module, LstmEncoder):
            module.layers = nn.ModuleList(LstmCells(layer) for layer in module.layers if isinstance(layer, nn.LSTM))
    return network


def networks_at_once(network: Network, *, rows: int, features: int, lookback: int, batch_size: int) -> int:
    """How many networks fit into STACK_BYTES, at least 1. `rows` of the longest ticker; `batch_size` windows per step.

    A step is simulated on the meta device, whose tensors have a size and no numbers.
    """
    batch = max(batch_size, PREDICTED_TOGETHER)
    weights, shapes = parameter_count(network), network.encoder.mask_shapes(batch)
    kept = bytes_kept(network, (1, batch, lookback, features))
    floats = COPIES_OF_WEIGHTS * weights + rows * features + batch * lookback * features
    masks = sum(math.prod(shape) for shape in shapes)
    return max(1, STACK_BYTES // (FLOAT_BYTES * floats + BACKWARD * kept + BYTES_OF_A_MASK * masks))


def bytes_kept(network: Network, windows: tuple[int, int, int, int]) -> int:
    """Bytes that the forward pass of one network keeps for its backward pass, without its weights."""
    meta = torch.device("meta")
    stack = StackedNetwork(network, torch.empty(1, parameter_count(network), device=meta))
    masks = [torch.empty(1, *shape, device=meta) for shape in network.encoder.mask_shapes(windows[1])]
    storages: dict[int, int] = {stack.values.untyped_storage()._cdata: 0}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages.setdefault(storage._cdata, storage.nbytes())
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        last = stack(torch.empty(windows, device=meta), masks)
    del last
    return sum(storages.values())
