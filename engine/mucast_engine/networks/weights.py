"""All weights of a network in one vector, so that clipping and the optimiser are a few operations and not hundreds."""

import copy
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.rmsprop import rmsprop
from torch.optim.sgd import sgd

from mucast_engine.failure import unknown

OptimiserName = Literal["adam", "sgd", "rmsprop"]

# Like PyTorch's clip_grad_norm_.
CLIP_EPSILON = 1e-6
# PyTorch's default for Adam and RMSprop.
EPSILON = 1e-8

N = TypeVar("N", bound=nn.Module)


class FlatWeights:
    """`values` (p) contains every weight of `network` and `gradients` (p) their gradients, in the module's order.

    The network's own parameters become views of the two.
    """

    def __init__(self, network: nn.Module) -> None:
        parameters = list(network.parameters())
        self.values = torch.cat([weight.detach().flatten() for weight in parameters])
        self.gradients = torch.zeros_like(self.values)
        _point(parameters, self.values, self.gradients)

    def replica(self, network: N) -> tuple[N, Tensor]:
        """A copy of `network` on the same values, with its own gradients (p)."""
        twin, gradients = copy.deepcopy(network), torch.zeros_like(self.values)
        _point(list(twin.parameters()), self.values, gradients)
        return twin, gradients


def _point(parameters: list[nn.Parameter], values: Tensor, gradients: Tensor) -> None:
    sizes = [weight.numel() for weight in parameters]
    for weight, value, gradient in zip(parameters, values.split(sizes), gradients.split(sizes), strict=True):
        weight.data = value.view_as(weight)
        weight.grad = gradient.view_as(weight)


class Optimiser:
    """PyTorch's Adam (weight decay coupled), SGD or RMSprop, after clipping the norm of the whole gradient.

    Calls the functions under PyTorch's own classes, because the classes import its compiler: a second and 150 MB per
    process.
    """

    def __init__(self, weights: FlatWeights, training: dict[str, Any]) -> None:
        self._values, self._gradients = weights.values, weights.gradients
        self._clip: float = training["grad_clip"]
        self._common = {"lr": training["learning_rate"], "weight_decay": training["weight_decay"], "maximize": False}
        self._move = self._rule(training["optimizer"])
        self._mean, self._square = torch.zeros_like(self._values), torch.zeros_like(self._values)
        self._steps = torch.zeros((), device=self._values.device)

    def _rule(self, name: OptimiserName) -> Callable[[], None]:
        match name:
            case "adam":
                return self._adam
            case "sgd":
                return self._sgd
            case "rmsprop":
                return self._rmsprop
            case _:
                raise unknown("optimiser", name)

    @torch.no_grad()
    def step(self) -> None:
        if self._clip > 0:
            norm = torch.linalg.vector_norm(self._gradients)
            self._gradients.mul_((self._clip / (norm + CLIP_EPSILON)).clamp(max=1.0))
        self._move()

    def _adam(self) -> None:
        adam([self._values], [self._gradients], [self._mean], [self._square], [], [self._steps], fused=True,
             amsgrad=False, beta1=0.9, beta2=0.999, eps=EPSILON, **self._common)  # fmt: skip

    def _sgd(self) -> None:
        sgd([self._values], [self._gradients], [None], fused=True, momentum=0.0, dampening=0.0, nesterov=False,
            **self._common)  # fmt: skip

    def _rmsprop(self) -> None:
        rmsprop([self._values], [self._gradients], [self._square], [], [], [self._steps], foreach=False,
                alpha=0.99, eps=EPSILON, momentum=0.0, centered=False, **self._common)  # fmt: skip
