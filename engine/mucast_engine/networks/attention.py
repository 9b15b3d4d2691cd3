"""Transformer layers (Vaswani et al. 2017), normalised before each part (Xiong et al. 2020)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from mucast_engine.networks.dropout import Masks, dropped

LAST = slice(-1, None)


class AttentionLayer(nn.Module):
    """Attention over the positions of a sequence, then a feed-forward part, each added to what came in."""

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
        """Sequences (n, length, width) to (n, asked positions, width).

        Positions that are not `asked` for are looked at and not computed any further. `present` (n, length) is
        False for those that nobody may look at; each sequence has at least one other.
        """
        n, _, width = x.shape
        heads = (n, -1, self._heads, width // self._heads)
        normed = self.norm_attention(x)
        query = self.query(normed[:, asked]).view(heads).transpose(1, 2)
        key, value = (part.reshape(heads).transpose(1, 2) for part in self.key_value(normed).chunk(2, dim=-1))
        scores = (query @ key.transpose(2, 3)) * (1.0 / math.sqrt(heads[-1]))
        if present is not None:
            scores = scores.masked_fill(~present[:, None, None, :], -torch.inf)
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(n, -1, width)
        x = x[:, asked] + dropped(self.join(mixed), masks)
        hidden = dropped(functional.gelu(self.widen(self.norm_feedforward(x))), masks)
        return x + dropped(self.narrow(hidden), masks)

    def mask_shapes(self, n: int, positions: int) -> list[tuple[int, ...]]:
        return [(n, positions, self._width), (n, positions, self._feedforward), (n, positions, self._width)]


class TransformerEncoder(nn.Module):
    """Attention within a window; its last position, which looks at all others, describes the window."""

    def __init__(self, features: int, lookback: int, width: int, heads: int, layers: int, feedforward: int) -> None:
        super().__init__()
        self.embed = nn.Linear(features, width)
        self.position = nn.Parameter(torch.empty(lookback, width))
        self.layers = nn.ModuleList(AttentionLayer(width, heads, feedforward) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.width = width
        self._lookback = lookback

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
        """Windows (n, lookback, features) to (n, width)."""
        x = self.embed(windows) + self.position
        for layer in self.layers[:-1]:
            x = layer(x, masks)
        return self.norm(self.layers[-1](x, masks, asked=LAST)[:, 0])

    def mask_shapes(self, n: int) -> list[tuple[int, ...]]:
        whole = [shape for layer in self.layers[:-1] for shape in layer.mask_shapes(n, self._lookback)]
        return whole + self.layers[-1].mask_shapes(n, 1)
