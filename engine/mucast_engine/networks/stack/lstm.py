"""An LSTM layer of plain matrix products, which stacks as nn.LSTM does not."""

from typing import TypeVar

import torch
from torch import Tensor, nn

from mucast_engine.networks.recurrent import LstmEncoder

N = TypeVar("N", bound=nn.Module)


class LstmCells(nn.Module):
    """The function of an nn.LSTM of one layer that takes the rows first, on weights of the same names."""

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
    """`network` with cells in place of its LSTM layers; the names and the order of the weights stay."""
    for module in network.modules():
        if isinstance(module, LstmEncoder):
            module.layers = nn.ModuleList(LstmCells(layer) for layer in module.layers if isinstance(layer, nn.LSTM))
    return network
