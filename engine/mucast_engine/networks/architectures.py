"""Builds the network of a task, with its first weights."""

from typing import Any, Literal, Protocol, cast

import torch
from torch import Tensor, nn

from mucast_engine.failure import unknown
from mucast_engine.networks.cnn import CnnEncoder
from mucast_engine.networks.dropout import Masks
from mucast_engine.networks.joint.network import AttentionContext, JointNetwork, MeanContext
from mucast_engine.networks.lstm import LstmEncoder, initialise_lstm
from mucast_engine.networks.mlp import MlpEncoder
from mucast_engine.networks.transformer import TransformerEncoder

Spec = dict[str, Any]

# Networks of one ticker each.
TickerArchitecture = Literal["lstm", "mlp", "cnn", "transformer"]
# Networks of all tickers together.
JointArchitecture = Literal["portfolio_lstm", "portfolio_transformer"]

# A quiet read-out starts with this share of its random weights. Their forecasts are noise of the seed, and the few
# epochs that early stopping allows on daily returns would not remove it.
QUIET = 0.01


class Encoder(Protocol):
    """Windows (n, lookback, features) to (n, width)."""

    width: int

    def __call__(self, windows: Tensor, masks: Masks) -> Tensor: ...

    def mask_shapes(self, n: int) -> list[tuple[int, ...]]: ...


class Network(nn.Module):
    """An encoder and one linear read-out: the network of one ticker."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.readout = nn.Linear(cast(Encoder, encoder).width, 1)

    def forward(self, windows: Tensor, masks: Masks) -> Tensor:
        """Windows (n, lookback, features) to scaled returns (n)."""
        return cast(Tensor, self.readout(self.encoder(windows, masks))).squeeze(-1)

    def mask_shapes(self, n: int) -> list[tuple[int, ...]]:
        return cast(Encoder, self.encoder).mask_shapes(n)


def build_network(spec: Spec, features: int, lookback: int, generator: torch.Generator) -> Network:
    """The network of one ticker for `lookback` rows of `features`."""
    network = network_structure(spec, features, lookback)
    initialise(network, generator)
    return network


def network_structure(spec: Spec, features: int, lookback: int) -> Network:
    """The network of one ticker before its first weights are drawn; until then its weights depend on what ran
    before."""
    return Network(_encoder(spec["architecture"], spec, features, lookback))


def build_joint_network(spec: Spec, features: int, lookback: int, generator: torch.Generator) -> JointNetwork:
    """One network for all tickers; its weights do not depend on how many there are."""
    network = JointNetwork(*_encoder_and_context(spec["architecture"], spec, features, lookback))
    initialise(network, generator)
    return network


def _encoder_and_context(
    architecture: JointArchitecture, spec: Spec, features: int, lookback: int
) -> tuple[nn.Module, nn.Module]:
    match architecture:
        case "portfolio_lstm":
            lstm = _encoder("lstm", spec, features, lookback)
            return lstm, MeanContext(cast(Encoder, lstm).width)
        case "portfolio_transformer":
            transformer = _encoder("transformer", spec, features, lookback)
            return transformer, AttentionContext(
                cast(Encoder, transformer).width, spec["nhead"], spec["dim_feedforward"]
            )
        case _:
            raise unknown("architecture", architecture)


def _encoder(architecture: TickerArchitecture, spec: Spec, features: int, lookback: int) -> nn.Module:
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


def initialise(network: nn.Module, generator: torch.Generator) -> None:
    """Draws every weight from `generator`, in the order of the modules."""
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.LSTM):
                initialise_lstm(module, generator)
            elif isinstance(module, nn.Linear | nn.Conv1d):
                initialise_dense(module, generator)
            elif isinstance(module, TransformerEncoder):
                # As large as the rows that it is added to: training has too few steps to make a smaller one grow.
                nn.init.normal_(module.position, generator=generator)
            elif [*module.parameters(recurse=False)] and not isinstance(module, nn.LayerNorm):
                # PyTorch has drawn them from its global generator, so they would depend on what ran before.
                raise TypeError(f"no rule draws the first weights of {type(module).__name__}")


def initialise_dense(layer: nn.Linear | nn.Conv1d, generator: torch.Generator) -> None:
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
