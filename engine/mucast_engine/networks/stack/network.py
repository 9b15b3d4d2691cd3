"""S networks of one shape as one: their weights are the rows of a matrix, their forward passes one batched pass."""

from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from mucast_engine.networks.losses import Labels, LossName, make_loss
from mucast_engine.networks.lstm import LstmEncoder


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
        # The only form of attention whose parts can be stacked on every device.
        with sdpa_kernel(SDPBackend.MATH):
            return vmap(self._forward)(weights, windows, list(masks))

    def _forward(self, weights: dict[str, Tensor], windows: Tensor, masks: list[Tensor]) -> Tensor:
        predictions: Tensor = functional_call(self._network, weights, (windows, iter(masks) if masks else None))
        return predictions


def stacked_losses(name: LossName, predictions: Tensor, labels: Labels, means: Tensor) -> Tensor:
    """The loss (S) of each network on its own labels (S, n), 0 if it has none. `means` (S): see make_loss."""

    def loss(predictions: Tensor, values: Tensor, known: Tensor, mean: Tensor) -> Tensor:
        measure, own = make_loss(name, mean), Labels(values, known)
        denominator = measure.denominator(own)
        return measure.total(predictions, own) / (denominator + (denominator == 0))

    return vmap(loss)(predictions, *labels, means)


def stacked_values(weights: Sequence[Tensor], device: torch.device) -> Tensor:
    """First weights (p) of each network as rows."""
    return torch.stack(list(weights)).to(device)


N = TypeVar("N", bound=nn.Module)


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
