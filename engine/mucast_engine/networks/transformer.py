"""Transformer layers (Vaswani et al. 2017), normalised before each part (Xiong et al. 2020)."""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from mucast_engine.networks.dropout import Masks, dropped

LAST = slice(-1, None)


class AttentionLayer(nn.Module):
    """Attention over the positions of a sequence, then a feed-forward part, each added to its input.

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
        self._heads = heads
        self._feedforward = feedforward
        self._width = width

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


class TransformerEncoder(nn.Module):
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
        """Windows (n, lookback, features) to (n, width)."""
        x = self.embed(windows) + self.position
        for layer in self.layers[:-1]:
            x = layer(x, masks)
        return cast(Tensor, self.norm(self.layers[-1](x, masks, asked=LAST)[:, 0]))

    def mask_shapes(self, n: int) -> list[tuple[int, ...]]:
        return [shape for layer in self.layers for shape in layer.mask_shapes(n, 1)]
