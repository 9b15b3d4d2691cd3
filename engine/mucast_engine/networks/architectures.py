"""The network of one ticker and the network of all tickers together, with their first weights."""

from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from mucast_engine.failure import unknown
from mucast_engine.networks.dropout import Masks, dropped
from mucast_engine.networks.encoders import (
    AttentionLayer,
    CnnEncoder,
    Encoder,
    LstmEncoder,
    MlpEncoder,
    TransformerEncoder,
)

Spec = dict[str, Any]

# Networks of one ticker each.
TickerArchitecture = Literal["lstm", "mlp", "cnn", "transformer"]
# Networks of all tickers together.
JointArchitecture = Literal["portfolio_lstm", "portfolio_transformer"]

# A quiet read-out starts with this share of its random weights. Their forecasts are noise of the seed, and the few
# epochs that early stopping allows on daily returns would not remove it.
QUIET = 0.01

# Gates of an LSTM are in PyTorch's order: input, forget, cell, output.
FORGET = 1
# The sigmoid of -1.5 is 0.18. Returns are mostly noise, and a cell that keeps everything from the start adds it up.
FORGET_BIAS = -1.5


class Network(nn.Module):
    """An encoder and one linear read-out: the network of one ticker."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.readout = nn.Linear(encoder.width, 1)

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
        """Windows (n, lookback, features) to scaled returns (n)."""
        return cast(Tensor, self.readout(self.encoder(windows, masks))).squeeze(-1)


class Context(nn.Module):
    """What the tickers of a date learn of each other: x (dates, tickers, width) to the same shape.

    `present` (dates, tickers): at least one per date.
    """

    def mask_shapes(self, dates: int, tickers: int) -> list[tuple[int, ...]]:
        raise NotImplementedError


class MeanContext(Context):
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


class AttentionContext(Context):
    """A transformer layer over the tickers of a date."""

    def __init__(self, width: int, heads: int, feedforward: int) -> None:
        super().__init__()
        self.layer = AttentionLayer(width, heads, feedforward)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, masks: Masks, present: Tensor) -> Tensor:
        return cast(Tensor, self.norm(self.layer(x, masks, present=present)))

    def mask_shapes(self, dates: int, tickers: int) -> list[tuple[int, ...]]:
        return self.layer.mask_shapes(dates, tickers)


class JointNetwork(nn.Module):
    """Encodes each ticker's window alone, then adds the context of its date, and reads out one return each.

    Its weights do not depend on how many tickers there are.
    """

    def __init__(self, encoder: Encoder, context: Context) -> None:
        super().__init__()
        self.encoder = encoder
        self.context = context
        self.readout = nn.Linear(encoder.width, 1)

    def forward(self, windows: Tensor, present: Tensor, cells: Tensor | None, masks: Masks) -> Tensor:
        """Scaled returns (dates, tickers); the values of absent tickers are meaningless.

        `windows` (n, lookback, features) are those of `cells` (n), indices into the flattened (dates, tickers); None
        for all of them.
        """
        encoded = cast(Tensor, self.encoder(windows, masks))
        if cells is not None:
            encoded = encoded.new_zeros(present.numel(), encoded.shape[-1]).index_copy(0, cells, encoded)
        x = self.context(encoded.view(*present.shape, -1), masks, present)
        return cast(Tensor, self.readout(x)).squeeze(-1)

    def mask_shapes(self, n: int, dates: int, tickers: int) -> list[tuple[int, ...]]:
        return [*self.encoder.mask_shapes(n), *self.context.mask_shapes(dates, tickers)]


def build_network(spec: Spec, features: int, lookback: int, generator: torch.Generator | None) -> Network:
    """The network of one ticker for `lookback` rows of `features`.

    Without a generator only its shape counts: its weights depend on what ran before.
    """
    network = Network(_encoder(spec["architecture"], spec, features, lookback))
    if generator is not None:
        initialise(network, generator)
    return network


def build_joint_network(spec: Spec, features: int, lookback: int, generator: torch.Generator) -> JointNetwork:
    architecture: JointArchitecture = spec["architecture"]
    context: Context
    match architecture:
        case "portfolio_lstm":
            encoder = _encoder("lstm", spec, features, lookback)
            context = MeanContext(encoder.width)
        case "portfolio_transformer":
            encoder = _encoder("transformer", spec, features, lookback)
            context = AttentionContext(encoder.width, spec["nhead"], spec["dim_feedforward"])
        case _:
            raise unknown("architecture", architecture)
    network = JointNetwork(encoder, context)
    initialise(network, generator)
    return network


def _encoder(architecture: TickerArchitecture, spec: Spec, features: int, lookback: int) -> Encoder:
    match architecture:
        case "lstm":
            return LstmEncoder(features, spec["hidden_dims"])
        case "mlp":
            return MlpEncoder(features, lookback, spec["hidden_dims"])
        case "cnn":
            return CnnEncoder(features, lookback, spec["filters"], spec["kernel_size"], spec["pool_size"])
        case "transformer":
            sizes = (spec["d_model"], spec["nhead"], spec["num_layers"], spec["dim_feedforward"])
            return TransformerEncoder(features, lookback, *sizes)
        case _:
            raise unknown("architecture", architecture)


@torch.no_grad()
def initialise(network: nn.Module, generator: torch.Generator) -> None:
    """Draws every weight from `generator`, in the order of the modules."""
    for module in network.modules():
        if isinstance(module, nn.LSTM):
            _initialise_lstm(module, generator)
        elif isinstance(module, nn.Linear | nn.Conv1d):
            _initialise_dense(module, generator)
        elif isinstance(module, TransformerEncoder):
            # As large as the rows that it is added to: training has too few steps to make a smaller one grow.
            nn.init.normal_(module.position, generator=generator)
        elif [*module.parameters(recurse=False)] and not isinstance(module, nn.LayerNorm):
            # PyTorch has drawn them from its global generator, so they would depend on what ran before.
            raise TypeError(f"no rule draws the first weights of {type(module).__name__}")


def _initialise_lstm(layer: nn.LSTM, generator: torch.Generator) -> None:
    """PyTorch's input weights, orthogonal recurrent weights (Saxe et al. 2014), gates that mostly forget."""
    bound = layer.hidden_size**-0.5
    weights = dict(layer.named_parameters())
    nn.init.uniform_(weights["weight_ih_l0"], -bound, bound, generator=generator)
    for gate in weights["weight_hh_l0"].detach().chunk(4):
        nn.init.orthogonal_(gate, generator=generator)
    nn.init.zeros_(weights["bias_hh_l0"])
    nn.init.zeros_(weights["bias_ih_l0"])
    nn.init.constant_(weights["bias_ih_l0"].detach().chunk(4)[FORGET], FORGET_BIAS)


def _initialise_dense(layer: nn.Linear | nn.Conv1d, generator: torch.Generator) -> None:
    """Orthogonal weights (Saxe et al. 2014) as large as PyTorch's own, and its biases.

    Of inputs that are alike they make outputs that are alike, more nearly the same with every seed. The last bits of
    the QR decomposition depend on PyTorch's number of threads: a task calls torch.set_num_threads(1) before it draws.
    """
    inputs = layer.weight[0].numel()
    gain = (max(inputs, len(layer.weight)) / (3 * inputs)) ** 0.5
    nn.init.orthogonal_(layer.weight, gain, generator=generator)
    bias = cast(Tensor, layer.bias)  # Every layer here has one.
    nn.init.uniform_(bias, -(inputs**-0.5), inputs**-0.5, generator=generator)


@torch.no_grad()
def start_quietly(network: Network | JointNetwork, level: float) -> None:
    """Before training, the network forecasts `level`, a scaled return, and hardly anything else."""
    network.readout.weight.mul_(QUIET)
    network.readout.bias.fill_(level)


def parameter_count(network: nn.Module) -> int:
    return sum(weight.numel() for weight in network.parameters())
