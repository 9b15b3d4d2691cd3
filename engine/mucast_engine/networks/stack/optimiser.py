"""The optimisers' formulas on the weights of a stack, network by network."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mucast_engine.failure import unknown
from mucast_engine.networks.weights import CLIP_EPSILON, OptimiserName

# PyTorch's defaults.
ADAM_DECAYS = (0.9, 0.999)
RMSPROP_DECAY = 0.99
EPSILON = 1e-8


class StackOptimiser:
    """PyTorch's Adam (weight decay coupled), SGD or RMSprop on `values` (S, p), each row after clipping its gradient.

    Everything is in place and on the device, as a CUDA graph requires.
    """

    def __init__(self, values: Tensor, training: dict[str, Any]) -> None:
        self._values = values
        self._rate, self._decay = training["learning_rate"], training["weight_decay"]
        self._clip: float = training["grad_clip"]
        kind: OptimiserName = training["optimizer"]
        self._move = self._rule(kind)
        self._mean = torch.zeros_like(values, requires_grad=False) if kind == "adam" else values.new_zeros(0)
        self._square = torch.zeros_like(values, requires_grad=False) if kind != "sgd" else values.new_zeros(0)
        self._steps = torch.zeros(len(values), 1, dtype=torch.float64, device=values.device)

    def _rule(self, name: OptimiserName) -> Callable[[Tensor, Tensor], None]:
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
