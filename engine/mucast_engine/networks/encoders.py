"""What describes a ticker's window by a vector: fully connected, convolutional, LSTM and transformer layers."""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from mucast_engine.networks.dropout import Masks, dropped

LAST = slice(-1, None)


class Encoder(nn.Module):
    """Windows (n, lookback, features) to (n, width), under masks of `mask_shapes(n)`."""

    width: int

    def mask_shapes(self, n: int) -> list[tuple[int, ...]]:
        raise NotImplementedError


class MlpEncoder(Encoder):
    """Linear layers of `widths`, each followed by ReLU and dropout, on the concatenated rows of the window."""

    def __init__(self, features: int, lookback: int, widths: Sequence[int]) -> None:
        super().__init__()
        inputs = (lookback * features, *widths[:-1])
        self.layers = nn.ModuleList(nn.Linear(before, after) for before, after in zip(inputs, widths, strict=True))
        self._widths = tuple(widths)
        self.width = widths[-1]

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
        x = windows.flatten(1)
        for layer in self.layers:
            x = dropped(functional.relu(layer(x)), masks)
        return x

    def mask_shapes(self, n: int) -> list[tuple[int, ...]]:
        return [(n, width) for width in self._widths]


class CnnEncoder(Encoder):
    """Blocks of a convolution over the rows that keeps their number, ReLU, max-pooling and dropout; the last block's
    output is flattened.

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
        self._lengths = [lookback // pool**block for block in range(1, len(filters) + 1)]
        self.width = filters[-1] * self._lengths[-1]

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
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


class LstmEncoder(Encoder):
    """LSTM layers of `widths` (Hochreiter and Schmidhuber 1997; Gers et al. 2000), each followed by dropout; the
    final state of the last layer describes the window.

    A unit is dropped on all rows of a window or on none (Gal and Ghahramani 2016).
    """

    def __init__(self, features: int, widths: Sequence[int]) -> None:
        super().__init__()
        inputs = (features, *widths[:-1])
        self.layers = nn.ModuleList(nn.LSTM(before, after) for before, after in zip(inputs, widths, strict=True))
        self._widths = tuple(widths)
        self.width = widths[-1]

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
        states = windows.transpose(0, 1)  # The layers work row by row.
        for layer in self.layers[:-1]:
            states = dropped(layer(states)[0], masks)
        _, (last, _) = self.layers[-1](states)
        return dropped(last[0], masks)

    def mask_shapes(self, n: int) -> list[tuple[int, ...]]:
        return [(1, n, width) for width in self._widths[:-1]] + [(n, self.width)]


class AttentionLayer(nn.Module):
    """Attention over the positions of a sequence, then a feed-forward part, each added to its input (Vaswani et al.
    2017) and normalised before (Xiong et al. 2020).

    Dropout acts on what is added and inside the feed-forward part.
    """

    def __init__(self, width: int, heads: int, feedforward: int) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.join = nn.Linear(width, width)
        self.norm_feedforward = nn.LayerNorm(width)
        self.widen = nn.Linear(width, feedforward)
        self.narrow = nn.Linear(feedforward, width)
        self._heads, self._feedforward, self._width = heads, feedforward, width

    def forward(self, x: Tensor, masks: Masks, asked: slice = slice(None), present: Tensor | None = None) -> Tensor:
        """Sequences (n, length, width) to (n, requested positions, width).

        Positions that are not `asked` can be attended to but are not computed further. `present` (n, length) is
        False for those that no position may attend to; each sequence has at least one other.
        """
        n, _, width = x.shape
        heads = (n, -1, self._heads, width // self._heads)
        normed = self.norm_attention(x)
        query = self.query(normed[:, asked]).view(heads).transpose(1, 2)
        key, value = (part.view(heads).transpose(1, 2) for part in self.key_value(normed).chunk(2, dim=-1))
        seen = None if present is None else present[:, None, None, :]
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen)
        x = x[:, asked] + dropped(self.join(mixed.transpose(1, 2).reshape(n, -1, width)), masks)
        hidden = dropped(functional.relu(self.widen(self.norm_feedforward(x))), masks)
        return x + dropped(self.narrow(hidden), masks)

    def mask_shapes(self, n: int, positions: int) -> list[tuple[int, ...]]:
        """If one mask serves all positions, a unit is dropped on every position of a sequence or on none."""
        return [(n, positions, self._width), (n, positions, self._feedforward), (n, positions, self._width)]


class TransformerEncoder(Encoder):
    """Attention within a window; its last position, which attends to all others, describes the window.

    A unit is dropped on all rows of a window or on none.
    """

    def __init__(self, features: int, lookback: int, width: int, heads: int, layers: int, feedforward: int) -> None:
        super().__init__()
        self.embed = nn.Linear(features, width)
        self.position = nn.Parameter(torch.empty(lookback, width))
        blocks = [AttentionLayer(width, heads, feedforward) for _ in range(layers)]
        self.layers: Sequence[AttentionLayer] = cast(Any, nn.ModuleList(blocks))
        self.norm = nn.LayerNorm(width)
        self.width = width

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
        x = self.embed(windows) + self.position
        for layer in self.layers[:-1]:
            x = layer(x, masks)
        return cast(Tensor, self.norm(self.layers[-1](x, masks, asked=LAST)[:, 0]))

    def mask_shapes(self, n: int) -> list[tuple[int, ...]]:
        return [shape for layer in self.layers for shape in layer.mask_shapes(n, 1)]
