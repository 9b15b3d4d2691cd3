"""All weights of a network in one vector, so that clipping and the optimiser are a few operations and not hundreds."""

import copy
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

# As PyTorch's clip_grad_norm_.
CLIP_EPSILON = 1e-6

N = TypeVar("N", bound=nn.Module)


class FlatWeights:
    """`values` (p) holds every weight of `network` and `gradients` (p) their gradients, as the module names them.

    The network's own parameters become views of the two.
    """

    def __init__(self, network: nn.Module) -> None:
        parameters = list(network.parameters())
        self.values = torch.cat([weight.detach().flatten() for weight in parameters])
        self.gradients = torch.zeros_like(self.values)
        _point(parameters, self.values, self.gradients)

    def replica(self, network: N) -> tuple[N, Tensor]:
        """A copy of `network` on the same values, with gradients (p) of its own."""
        twin, gradients = copy.deepcopy(network), torch.zeros_like(self.values)
        _point(list(twin.parameters()), self.values, gradients)
        return twin, gradients


def _point(parameters: list[nn.Parameter], values: Tensor, gradients: Tensor) -> None:
    sizes = [weight.numel() for weight in parameters]
    for weight, value, gradient in zip(parameters, values.split(sizes), gradients.split(sizes), strict=True):
        weight.data = value.view_as(weight)
        weight.grad = gradient.view_as(weight)


class Optimiser:
    """PyTorch's Adam (weight decay coupled), SGD or RMSprop, after clipping the norm of the whole gradient."""

    def __init__(self, weights: FlatWeights, training: dict[str, Any]) -> None:
        self._gradients = weights.gradients
        self._clip = float(training["grad_clip"])
        weights.values.grad = weights.gradients
        common = {"lr": training["learning_rate"], "weight_decay": training["weight_decay"]}
        self._optimiser: torch.optim.Optimizer
        match training["optimizer"]:
            case "adam":
                self._optimiser = torch.optim.Adam([weights.values], fused=True, **common)
            case "sgd":
                self._optimiser = torch.optim.SGD([weights.values], fused=True, **common)
            case "rmsprop":
                self._optimiser = torch.optim.RMSprop([weights.values], **common)
            case unknown:
                raise ValueError(f"no optimiser {unknown!r}")

    def step(self) -> None:
        if self._clip > 0:
            norm = torch.linalg.vector_norm(self._gradients)
            self._gradients.mul_((self._clip / (norm + CLIP_EPSILON)).clamp(max=1.0))
        self._optimiser.step()
