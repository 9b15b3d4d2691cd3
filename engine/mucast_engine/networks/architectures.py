"""From the network a task asks for to a module with its first weights."""

from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

from mucast_engine.networks.cnn import CnnEncoder
from mucast_engine.networks.dropout import Masks
from mucast_engine.networks.joint.network import JointNetwork, attention_context, mean_context
from mucast_engine.networks.lstm import LstmEncoder, initialise_lstm
from mucast_engine.networks.mlp import MlpEncoder
from mucast_engine.networks.transformer import TransformerEncoder

Spec = dict[str, Any]


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
    network = Network(_encoder(spec["architecture"], spec, features, lookback))
    initialise(network, generator)
    return network


def build_joint_network(spec: Spec, features: int, lookback: int, generator: torch.Generator) -> JointNetwork:
    """One network for all tickers; how many there are changes none of its weights."""
    encoder = _encoder(spec["architecture"].removeprefix("portfolio_"), spec, features, lookback)
    context = attention_context if spec["architecture"] == "portfolio_transformer" else mean_context
    network = JointNetwork(encoder, context(spec, cast(Encoder, encoder).width))
    initialise(network, generator)
    return network


def _encoder(kind: str, spec: Spec, features: int, lookback: int) -> nn.Module:
    match kind:
        case "lstm":
            return LstmEncoder(features, spec["hidden_dims"])
        case "mlp":
            return MlpEncoder(features, lookback, spec["hidden_dims"])
        case "cnn":
            return CnnEncoder(features, lookback, spec["filters"], spec["kernel_size"], spec["pool_size"])
        case "transformer":
            sizes = (spec["d_model"], spec["nhead"], spec["num_layers"], spec["dim_feedforward"])
            return TransformerEncoder(features, lookback, *sizes)
        case unknown:
            raise ValueError(f"no architecture {unknown!r}")


def initialise(network: nn.Module, generator: torch.Generator) -> None:
    """Draws every weight from `generator`, in the order of the modules."""
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.LSTM):
                initialise_lstm(module, generator)
            elif isinstance(module, nn.Linear | nn.Conv1d):
                bound = module.weight[0].numel() ** -0.5
                for weight in module.parameters():
                    nn.init.uniform_(weight, -bound, bound, generator=generator)
            elif isinstance(module, TransformerEncoder):
                # As large as the rows it is added to: a smaller one is not found in as few steps as there are.
                nn.init.normal_(module.position, generator=generator)


def parameter_count(network: nn.Module) -> int:
    return sum(weight.numel() for weight in network.parameters())
