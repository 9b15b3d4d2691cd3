"""The networks built from PyTorch's own modules, with the default sizes of run_dl_job."""

import torch
from torch import nn

from panel import LOOKBACK


class LstmEncoder(nn.Module):
    def __init__(self, features, widths=(64, 32), dropout=0.2):
        super().__init__()
        sizes = zip((features, *widths), widths)
        self.layers = nn.ModuleList(nn.LSTM(a, b, batch_first=True) for a, b in sizes)
        self.dropout = nn.Dropout(dropout)
        self.width = widths[-1]

    def forward(self, x):
        for layer in self.layers:
            x, _ = layer(x)
            x = self.dropout(x)
        return x[:, -1]


class TransformerEncoder(nn.Module):
    def __init__(self, features, width=64, heads=4, layers=2, dropout=0.1):
        super().__init__()
        self.embed = nn.Linear(features, width)
        self.position = nn.Parameter(torch.randn(LOOKBACK, width))
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.width = width

    def forward(self, x):
        return self.encoder(self.embed(x) + self.position)[:, -1]


class CnnEncoder(nn.Module):
    def __init__(self, features, filters=(32, 64), kernel=3, pool=2, dropout=0.2):
        super().__init__()
        parts, length = [], LOOKBACK
        for before, after in zip((features, *filters), filters):
            convolution = nn.Conv1d(before, after, kernel, padding="same")
            parts += [convolution, nn.ReLU(), nn.MaxPool1d(pool), nn.Dropout(dropout)]
            length //= pool
        self.parts = nn.Sequential(*parts, nn.Flatten())
        self.width = filters[-1] * length

    def forward(self, x):
        return self.parts(x.transpose(1, 2))


class MlpEncoder(nn.Module):
    def __init__(self, features, widths=(128, 64), dropout=0.2):
        super().__init__()
        parts = [nn.Flatten()]
        for before, after in zip((LOOKBACK * features, *widths), widths):
            parts += [nn.Linear(before, after), nn.ReLU(), nn.Dropout(dropout)]
        self.parts = nn.Sequential(*parts)
        self.width = widths[-1]

    def forward(self, x):
        return self.parts(x)


class Single(nn.Module):
    """Windows (batch, lookback, features) to forecasts (batch)."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(encoder.width, 1)

    def forward(self, x):
        return self.head(self.encoder(x)).squeeze(-1)


class MeanContext(nn.Module):
    """Adds to each ticker the output of a dense layer on it and on the mean of the present tickers."""

    def __init__(self, width, dropout=0.2):
        super().__init__()
        self.meet = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states, present):
        weights = present.unsqueeze(-1).to(states.dtype)
        mean = (states * weights).sum(dim=1, keepdim=True) / weights.sum(dim=1, keepdim=True)
        both = torch.cat([states, mean.expand_as(states)], dim=-1)
        return states + self.dropout(torch.relu(self.meet(both)))


class AttentionContext(nn.Module):
    """A transformer layer over the tickers of a date."""

    def __init__(self, width, heads=4, dropout=0.1):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, states, present):
        return self.norm(self.layer(states, src_key_padding_mask=~present))


class Joint(nn.Module):
    """Windows (batch, tickers, lookback, features) to forecasts (batch, tickers): encoder, then attention across tickers."""

    def __init__(self, encoder, context):
        super().__init__()
        self.encoder = encoder
        self.context = context(encoder.width)
        self.head = nn.Linear(encoder.width, 1)

    def forward(self, x, present):
        states = self.encoder(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return self.head(self.context(states, present)).squeeze(-1)


ENCODERS = {"lstm": LstmEncoder, "cnn": CnnEncoder, "transformer": TransformerEncoder, "mlp": MlpEncoder}
CONTEXTS = {"portfolio_lstm": MeanContext, "portfolio_transformer": AttentionContext}


def build(option, features):
    encoder = ENCODERS[option.removeprefix("portfolio_")](features)
    return Joint(encoder, CONTEXTS[option]) if option in CONTEXTS else Single(encoder)
