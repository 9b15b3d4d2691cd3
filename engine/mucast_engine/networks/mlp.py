"""Fully connected layers over a whole window."""

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

from mucast_engine.networks.dropout import Masks, dropped


class MlpEncoder(nn.Module):
    """Linear layers of `widths`, each followed by ReLU and dropout, on the concatenated rows of the window."""

    def __init__(self, features: int, lookback: int, widths: Sequence[int]) -> None:
        super().__init__()
        inputs = (lookback * features, *widths[:-1])
        self.layers = nn.ModuleList(nn.Linear(before, after) for before, after in zip(inputs, widths, strict=True))
        self._widths = tuple(widths)
        self.width = widths[-1]

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
        """Windows (n, lookback, features) to (n, width)."""
        x = windows.flatten(1)
        for layer in self.layers:
            x = dropped(functional.relu(layer(x)), masks)
        return x

    def mask_shapes(self, n: int) -> list[tuple[int, ...]]:
        return [(n, width) for width in self._widths]
