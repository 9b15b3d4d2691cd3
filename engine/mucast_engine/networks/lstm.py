"""LSTM layers over a window (Hochreiter and Schmidhuber 1997; Gers et al. 2000)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from mucast_engine.networks.dropout import Masks, dropped

# Gates are in PyTorch's order: input, forget, cell, output.
FORGET = 1
# The sigmoid of -1.5 is 0.18. Returns are mostly noise, and a cell that keeps everything from the start adds it up.
FORGET_BIAS = -1.5


class LstmEncoder(nn.Module):
    """A stack of LSTM layers of `widths`, each followed by dropout; the final state of the last layer describes the
    window.

    A unit is dropped on all rows of a window or on none (Gal and Ghahramani 2016).
    """

    def __init__(self, features: int, widths: Sequence[int]) -> None:
        super().__init__()
        inputs = (features, *widths[:-1])
        self.layers = nn.ModuleList(nn.LSTM(before, after) for before, after in zip(inputs, widths, strict=True))
        self.widths = tuple(widths)
        self.width = widths[-1]

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
        """Windows (n, lookback, features) to (n, width)."""
        states = windows.transpose(0, 1)  # The layers work row by row.
        for layer in self.layers[:-1]:
            states = dropped(layer(states)[0], masks)
        _, (last, _) = self.layers[-1](states)
        return dropped(last[0], masks)

    def mask_shapes(self, n: int) -> list[tuple[int, ...]]:
        return [(1, n, width) for width in self.widths[:-1]] + [(n, self.width)]


def initialise_lstm(layer: nn.LSTM, generator: torch.Generator) -> None:
    """PyTorch's input weights, orthogonal recurrent weights (Saxe et al. 2014), gates that mostly forget."""
    bound = layer.hidden_size**-0.5
    weights = dict(layer.named_parameters())
    nn.init.uniform_(weights["weight_ih_l0"], -bound, bound, generator=generator)
    for gate in weights["weight_hh_l0"].detach().chunk(4):
        nn.init.orthogonal_(gate, generator=generator)
    nn.init.zeros_(weights["bias_hh_l0"])
    nn.init.zeros_(weights["bias_ih_l0"])
    nn.init.constant_(weights["bias_ih_l0"].detach().chunk(4)[FORGET], FORGET_BIAS)
