"""The optimisers, on all weights of a network as one vector: a few operations and not hundreds."""

import copy
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.rmsprop import rmsprop
from torch.optim.sgd import sgd

OptimiserName = Literal["adam", "sgd", "rmsprop"]

# Like PyTorch's clip_grad_norm_.
CLIP_EPSILON = 1e-6
# PyTorch's defaults.
ADAM_DECAYS = (0.9, 0.999)
RMSPROP_DECAY = 0.99
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
        rules: dict[OptimiserName, Callable[[], None]] = {
            "adam": self._adam,
            "sgd": self._sgd,
            "rmsprop": self._rmsprop,
        }
        self._move = rules[training["optimizer"]]
        self._mean, self._square = torch.zeros_like(self._values), torch.zeros_like(self._values)
        self._steps = torch.zeros((), device=self._values.device)

    @torch.no_grad()
    def step(self) -> None:
        if self._clip > 0:
            norm = torch.linalg.vector_norm(self._gradients)
            self._gradients.mul_((self._clip / (norm + CLIP_EPSILON)).clamp(max=1.0))
        self._move()

    def _adam(self) -> None:
        beta1, beta2 = ADAM_DECAYS
        adam([self._values], [self._gradients], [self._mean], [self._square], [], [self._steps], fused=True,
             amsgrad=False, beta1=beta1, beta2=beta2, eps=EPSILON, **self._common)  # fmt: skip

    def _sgd(self) -> None:
        sgd([self._values], [self._gradients], [None], fused=True, momentum=0.0, dampening=0.0, nesterov=False,
            **self._common)  # fmt: skip

    def _rmsprop(self) -> None:
        rmsprop([self._values], [self._gradients], [self._square], [], [], [self._steps], foreach=False,
                alpha=RMSPROP_DECAY, eps=EPSILON, momentum=0.0, centered=False, **self._common)  # fmt: skip


class StackOptimiser:
    """The same optimisers' formulas on `values` (S, p), each row after clipping its own gradient.

    Everything is in place and on the device, as a CUDA graph requires.
    """

    def __init__(self, values: Tensor, training: dict[str, Any]) -> None:
        self._values = values
        self._rate, self._decay = training["learning_rate"], training["weight_decay"]
        self._clip: float = training["grad_clip"]
        kind: OptimiserName = training["optimizer"]
        rules: dict[OptimiserName, Callable[[Tensor, Tensor], None]] = {
            "adam": self._adam,
            "sgd": self._sgd,
            "rmsprop": self._rmsprop,
        }
        self._move = rules[kind]
        self._mean = torch.zeros_like(values, requires_grad=False) if kind == "adam" else values.new_zeros(0)
        self._square = torch.zeros_like(values, requires_grad=False) if kind != "sgd" else values.new_zeros(0)
        self._steps = torch.zeros(len(values), 1, dtype=torch.float64, device=values.device)

    @torch.no_grad()
    def step(self, gradients: Tensor, active: Tensor) -> None:
        """Updates the rows that are `active` (S), bool; the others keep their weights, moments and step counts."""
        if self._clip > 0:
            norms = torch.linalg.vector_norm(gradients, dim=1, keepdim=True)
            gradients = gradients * (self._clip / (norms + CLIP_EPSILON)).clamp(max=1.0)
        if self._decay > 0:
            gradients = gradients.add(self._values, alpha=self._decay)
        active = active[:, None]
        self._steps += active
        self._move(gradients.masked_fill(~active, 0.0), active.to(gradients.dtype))

    def _sgd(self, gradients: Tensor, active: Tensor) -> None:
        self._values.sub_(gradients, alpha=self._rate)

    def _rmsprop(self, gradients: Tensor, active: Tensor) -> None:
        self._average_squares(gradients, active, RMSPROP_DECAY)
        self._values.sub_(gradients / (self._square.sqrt() + EPSILON), alpha=self._rate)

    def _adam(self, gradients: Tensor, active: Tensor) -> None:
        decay, decay_square = ADAM_DECAYS
        self._mean.lerp_(gradients, (active * (1 - decay)).expand_as(gradients))
        self._average_squares(gradients, active, decay_square)
        steps = self._steps.clamp(min=1)  # A network that has not moved yet has no correction.
        rate = (active * self._rate / (1 - decay**steps)).to(gradients.dtype)
        root = (1 - decay_square**steps).sqrt().to(gradients.dtype)
        self._values.sub_(rate * self._mean / (self._square.sqrt() / root + EPSILON))

    def _average_squares(self, gradients: Tensor, active: Tensor, decay: float) -> None:
        """square = decay square + (1 - decay) gradient^2 where active; elsewhere the gradient is 0."""
        self._square.mul_(1 - active * (1 - decay)).addcmul_(gradients, gradients, value=1 - decay)
