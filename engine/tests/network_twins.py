"""The networks built only of PyTorch's own layers, for training without dropout or with given masks."""

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from network_tasks import ALONE
from torch import Tensor, nn

from mucast_engine.networks.dropout import Masks

Spec = dict[str, Any]


def under(x: Tensor, masks: Masks) -> Tensor:
    return x if masks is None else x * next(masks)


class Given(nn.Module):
    """Replaces a dropout layer."""

    masks: Masks = None

    def forward(self, x: Tensor) -> Tensor:
        return under(x, self.masks)


def chained(make: Any, widths: list[int], **options: Any) -> nn.ModuleList:
    return nn.ModuleList(make(before, after, **options) for before, after in itertools.pairwise(widths))


class LstmTwin(nn.Module):
    def __init__(self, spec: Spec, features: int) -> None:
        super().__init__()
        self.layers = chained(nn.LSTM, [features, *spec["hidden_dims"]])

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
        states = windows.transpose(0, 1)
        for layer in self.layers:
            states, _ = layer(states)
            states = under(states if layer is not self.layers[-1] else states[-1], masks)
        return states


class MlpTwin(nn.Module):
    def __init__(self, spec: Spec, features: int, lookback: int) -> None:
        super().__init__()
        self.layers = chained(nn.Linear, [features * lookback, *spec["hidden_dims"]])

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
        x = windows.reshape(len(windows), -1)
        for layer in self.layers:
            x = under(layer(x).relu(), masks)
        return x


class CnnTwin(nn.Module):
    """Odd kernels, whose padding is the same on both sides."""

    def __init__(self, spec: Spec, features: int) -> None:
        super().__init__()
        sizes = {"kernel_size": spec["kernel_size"], "padding": "same"}
        self.layers = chained(nn.Conv1d, [features, *spec["filters"]], **sizes)
        self.pool = nn.MaxPool1d(spec["pool_size"])

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
        x = windows
        for layer in self.layers:
            x = layer(x.transpose(1, 2)).relu()
            left_out = x.shape[2] % self.pool.kernel_size
            x = under(self.pool(x[:, :, left_out:]).transpose(1, 2), masks)
        return x.flatten(1)


class TransformerTwin(nn.Module):
    def __init__(self, spec: Spec, features: int, lookback: int) -> None:
        super().__init__()
        self.embed = nn.Linear(features, spec["d_model"])
        self.position = nn.Parameter(torch.zeros(lookback, spec["d_model"]))
        self.layers = nn.ModuleList(attention_twin(spec) for _ in range(spec["num_layers"]))
        self.norm = nn.LayerNorm(spec["d_model"])

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
        x = self.embed(windows) + self.position
        for layer in self.layers:
            x = attend(layer, x, masks)
        return self.norm(x)[:, -1]


def attention_twin(spec: Spec) -> nn.TransformerEncoderLayer:
    layer = nn.TransformerEncoderLayer(
        spec["d_model"], spec["nhead"], spec["dim_feedforward"], 0.0, "relu", batch_first=True, norm_first=True
    )
    layer.dropout, layer.dropout1, layer.dropout2 = Given(), Given(), Given()
    return layer


def attend(layer: nn.Module, x: Tensor, masks: Masks) -> Tensor:
    for place in (layer.dropout, layer.dropout1, layer.dropout2):
        place.masks = masks
    return layer(x)


def encoder_twin(spec: Spec, features: int, lookback: int) -> nn.Module:
    match spec["architecture"].removeprefix("portfolio_"):
        case "lstm":
            return LstmTwin(spec, features)
        case "mlp":
            return MlpTwin(spec, features, lookback)
        case "cnn":
            return CnnTwin(spec, features)
        case "transformer":
            return TransformerTwin(spec, features, lookback)
        case name:
            raise ValueError(f"no twin of the encoder of {name!r}")


class MeanTwin(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.meet = nn.Linear(2 * width, width)

    def forward(self, x: Tensor, masks: Masks) -> Tensor:
        """The tickers (n, width) that are present on one date."""
        mean = x.sum(0) / len(x)
        return x + under(torch.stack([self.meet(torch.cat([own, mean])) for own in x]).relu(), masks)


class AttentionTwin(nn.Module):
    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.layer = attention_twin(spec)
        self.norm = nn.LayerNorm(spec["d_model"])

    def forward(self, x: Tensor, masks: Masks) -> Tensor:
        return self.norm(attend(self.layer, x[None], masks)[0])


class Twin(nn.Module):
    """Of one ticker, or of the tickers that are present on one date, which then have a context."""

    def __init__(self, encoder: nn.Module, context: nn.Module | None, width: int) -> None:
        super().__init__()
        self.encoder, self.context = encoder, context
        self.readout = nn.Linear(width, 1)

    def forward(self, windows: Tensor, encoder_masks: Masks = None, context_masks: Masks = None) -> Tensor:
        """Windows (n, lookback, features) to scaled returns (n)."""
        encoded = self.encoder(windows, encoder_masks)
        return self.readout(encoded if self.context is None else self.context(encoded, context_masks))[:, 0]


def twin_of(network: nn.Module, spec: Spec, features: int, lookback: int) -> Any:
    """The same network with the same weights."""
    width = network.readout.in_features
    contexts = {"portfolio_lstm": MeanTwin(width)}
    if spec["architecture"] == "portfolio_transformer":
        contexts["portfolio_transformer"] = AttentionTwin(spec)
    assert spec["architecture"] in (*ALONE, *contexts), "it has no twin"
    twin = Twin(encoder_twin(spec, features, lookback), contexts.get(spec["architecture"]), width)
    own, given = dict(weights_by_name(twin)), dict(network.named_parameters())
    assert set(own) == set(given)
    with torch.no_grad():
        for name, weight in own.items():
            weight.copy_(given[name])
    return twin.train()


RENAMED = {"self_attn.out_proj": "join", "norm1": "norm_attention", "norm2": "norm_feedforward"}
RENAMED |= {"linear1": "widen", "linear2": "narrow"}


def weights_by_name(twin: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """The weights of a twin, as views, under the names that the networks use."""
    for name, weight in twin.named_parameters():
        for own, given in RENAMED.items():
            name = name.replace(own, given)
        layer, _, kind = name.partition("self_attn.in_proj_")
        if kind:
            width = len(weight) // 3
            yield f"{layer}query.{kind}", weight[:width]
            yield f"{layer}key_value.{kind}", weight[width:]
        else:
            yield name, weight
