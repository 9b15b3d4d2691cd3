"""The network of all tickers: an encoder that they share, then context across them, date by date."""

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from mucast_engine.networks.dropout import Masks, dropped
from mucast_engine.networks.transformer import AttentionLayer


class JointNetwork(nn.Module):
    """Encodes each ticker's window alone, exchanges information between the tickers of a date, and reads out one
    return each."""

    def __init__(self, encoder: nn.Module, context: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.context = context
        self.readout = nn.Linear(cast(Any, encoder).width, 1)

    def forward(self, windows: Tensor, present: Tensor, cells: Tensor | None, masks: Masks) -> Tensor:
        """Scaled returns (dates, tickers); the values of absent tickers are meaningless.

        `windows` (n, lookback, features) are those of `cells` (n), indices into the flattened (dates, tickers); None
        for all of them. `present` (dates, tickers): at least one per date.
        """
        encoded = cast(Tensor, self.encoder(windows, masks))
        if cells is not None:
            encoded = encoded.new_zeros(present.numel(), encoded.shape[-1]).index_copy(0, cells, encoded)
        x = self.context(encoded.view(*present.shape, -1), masks, present)
        return cast(Tensor, self.readout(x)).squeeze(-1)

    def mask_shapes(self, n: int, dates: int, tickers: int) -> list[tuple[int, ...]]:
        encoder, context = cast(Any, self.encoder), cast(Any, self.context)
        return [*encoder.mask_shapes(n), *context.mask_shapes(dates, tickers)]


class MeanContext(nn.Module):
    """Adds to each ticker a function of itself and of the mean of all that are present (Zaheer et al. 2017)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.meet = nn.Linear(2 * width, width)
        self._width = width

    def forward(self, x: Tensor, masks: Masks, present: Tensor) -> Tensor:
        weights = present.to(x.dtype)
        mean = torch.einsum("dtw,dt->dw", x, weights) / weights.sum(1, keepdim=True)
        both = torch.cat([x, mean[:, None].expand_as(x)], dim=-1)
        return x + dropped(functional.relu(self.meet(both)), masks)

    def mask_shapes(self, dates: int, tickers: int) -> list[tuple[int, ...]]:
        return [(dates, tickers, self._width)]


class AttentionContext(nn.Module):
    """A transformer layer over the tickers of a date."""

    def __init__(self, width: int, heads: int, feedforward: int) -> None:
        super().__init__()
        self.layer = AttentionLayer(width, heads, feedforward)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, masks: Masks, present: Tensor) -> Tensor:
        return cast(Tensor, self.norm(self.layer(x, masks, present=present)))

    def mask_shapes(self, dates: int, tickers: int) -> list[tuple[int, ...]]:
        return self.layer.mask_shapes(dates, tickers)
