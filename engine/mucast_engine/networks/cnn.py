"""Convolutions over the rows of a window."""

from collections.abc import Sequence
from typing import Any, cast

from torch import Tensor, nn
from torch.nn import functional

from mucast_engine.networks.dropout import Masks, dropped


class CnnEncoder(nn.Module):
    """Blocks of a convolution that keeps the length, ReLU, max-pooling and dropout.

    The last block's output, flattened, describes the window.

    Pools end on the window's last row; if the length is not a multiple, the oldest rows are dropped.
    """

    def __init__(self, features: int, lookback: int, filters: Sequence[int], kernel: int, pool: int) -> None:
        super().__init__()
        inputs = (features, *filters[:-1])
        layers = [nn.Conv1d(before, after, kernel) for before, after in zip(inputs, filters, strict=True)]
        self.layers: Sequence[nn.Conv1d] = cast(Any, nn.ModuleList(layers))
        self._padding = (kernel // 2, (kernel - 1) // 2)
        self._kernel, self._pool = kernel, pool
        self._filters = tuple(filters)
        self._lengths = pooled_lengths(lookback, pool, len(filters))
        self.width = filters[-1] * self._lengths[-1]

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
        """Windows (n, lookback, features) to (n, width)."""
        x = windows
        for layer, length in zip(self.layers, self._lengths, strict=True):
            # As a matrix product over the rows under the kernel: faster than a convolution of so few.
            rows = functional.pad(x, (0, 0, *self._padding)).unfold(1, self._kernel, 1)
            x = functional.linear(rows.flatten(2), layer.weight.flatten(1), layer.bias)
            pools = x[:, -length * self._pool :].unflatten(1, (length, self._pool))
            x = dropped(functional.relu(pools.amax(2)), masks)
        return x.flatten(1)

    def mask_shapes(self, n: int) -> list[tuple[int, ...]]:
        return [(n, length, width) for width, length in zip(self._filters, self._lengths, strict=True)]


def pooled_lengths(lookback: int, pool: int, blocks: int) -> list[int]:
    """The number of rows that remain after each block."""
    return [lookback // pool**block for block in range(1, blocks + 1)]
