"""S networks of one shape as one: their weights are the rows of a matrix, their forward passes one batched pass."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from mucast_engine.networks.losses import Labels, make_loss


class StackedNetwork:
    """`values` (S, p), each row in the order of the weights of `network`, which lends its structure alone."""

    def __init__(self, network: nn.Module, values: Tensor) -> None:
        self.values = values.requires_grad_()
        self._network = network
        self._shapes = {name: tuple(weight.shape) for name, weight in network.named_parameters()}
        self._sizes = [weight.numel() for weight in network.parameters()]

    def __call__(self, windows: Tensor, masks: Sequence[Tensor]) -> Tensor:
        """Windows (S, n, lookback, features) and masks (S, ...), none in prediction, to scaled returns (S, n)."""
        pieces = self.values.split(self._sizes, dim=1)
        weights = {
            name: piece.unflatten(1, shape) for (name, shape), piece in zip(self._shapes.items(), pieces, strict=True)
        }
        # The only form of attention that is made of parts which stack on every device.
        with sdpa_kernel(SDPBackend.MATH):
            return vmap(self._forward)(weights, windows, list(masks))

    def _forward(self, weights: dict[str, Tensor], windows: Tensor, masks: list[Tensor]) -> Tensor:
        predictions: Tensor = functional_call(self._network, weights, (windows, iter(masks) if masks else None))
        return predictions


def stacked_losses(name: str, predictions: Tensor, labels: Labels, means: Tensor) -> Tensor:
    """The loss (S) of each network on its own labels (S, n), 0 where it has none. `means` (S): see make_loss."""

    def loss(predictions: Tensor, values: Tensor, known: Tensor, mean: Tensor) -> Tensor:
        measure, own = make_loss(name, mean), Labels(values, known)
        denominator = measure.denominator(own)
        return measure.total(predictions, own) / (denominator + (denominator == 0))

    return vmap(loss)(predictions, *labels, means)


def stacked_values(weights: Sequence[Tensor], device: torch.device) -> Tensor:
    """First weights (p) of each network as rows."""
    return torch.stack(list(weights)).to(device)
