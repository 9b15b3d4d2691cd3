"""The optimisers of a stack move each network as PyTorch's own moves it, and let those that wait alone."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from network_tasks import TRAINING, seeded
from torch import Tensor

from mucast_engine.networks.stack.optimiser import StackOptimiser
from mucast_engine.networks.weights import FlatWeights, Optimiser

NETWORKS, WEIGHTS, STEPS = 3, 40, 30
OWN = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD, "rmsprop": torch.optim.RMSprop}


def moved_alone(
    values: Tensor, gradients: list[Tensor], training: dict[str, Any], shares: Sequence[float] | None = None
) -> Tensor:
    """By steps of `learning_rate`, or of these shares of it."""
    weights = torch.nn.Parameter(values.clone())
    own = OWN[training["optimizer"]]([weights], lr=training["learning_rate"], weight_decay=training["weight_decay"])
    for gradient, share in zip(gradients, shares or [1.0] * len(gradients), strict=True):
        weights.grad = gradient.clone()
        own.param_groups[0]["lr"] = training["learning_rate"] * share
        if training["grad_clip"] > 0:
            torch.nn.utils.clip_grad_norm_([weights], training["grad_clip"])
        own.step()
    return weights.detach()


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("grad_clip", [0.0, 6.0])
@pytest.mark.parametrize("optimizer", OWN)
def test_each_network_moves_as_pytorch_moves_it(optimizer: str, grad_clip: float, weight_decay: float) -> None:
    given = {"optimizer": optimizer, "grad_clip": grad_clip, "weight_decay": weight_decay, "learning_rate": 0.01}
    training = TRAINING | given
    random = seeded(3)
    first = torch.randn(NETWORKS, WEIGHTS, generator=random)
    gradients = torch.randn(STEPS, NETWORKS, WEIGHTS, generator=random)
    active = torch.rand(STEPS, NETWORKS, generator=random) < 0.7
    values = first.clone().requires_grad_()
    stack = StackOptimiser(values, training)
    for step in range(STEPS):
        waiting = values.detach()[~active[step]]
        stack.step(gradients[step].masked_fill(~active[step][:, None], torch.nan), active[step])
        assert torch.equal(values.detach()[~active[step]], waiting)
    for network in range(NETWORKS):
        own = list(gradients[active[:, network], network])
        torch.testing.assert_close(values.detach()[network], moved_alone(first[network], own, training))


@pytest.mark.parametrize("optimizer", OWN)
def test_a_share_of_the_learning_rate_holds_from_the_next_step_on(optimizer: str) -> None:
    training = TRAINING | {"optimizer": optimizer, "learning_rate": 0.01}
    random = seeded(3)
    first = torch.randn(NETWORKS, WEIGHTS, generator=random)
    gradients = torch.randn(STEPS, NETWORKS, WEIGHTS, generator=random)
    shares = [1.0] * 10 + [0.25] * 10 + [1.0] * (STEPS - 20)
    values = first.clone().requires_grad_()
    stack = StackOptimiser(values, training)
    layer = torch.nn.Linear(WEIGHTS, 1, bias=False)
    weights = FlatWeights(layer)
    weights.values.copy_(first[0])
    alone = Optimiser(weights, training)
    for step, share in enumerate(shares):
        stack.set_rate_share(share)
        stack.step(gradients[step], torch.ones(NETWORKS, dtype=torch.bool))
        alone.set_rate_share(share)
        weights.gradients.copy_(gradients[step, 0])
        alone.step()
    for network in range(NETWORKS):
        expected = moved_alone(first[network], list(gradients[:, network]), training, shares)
        torch.testing.assert_close(values.detach()[network], expected)
    torch.testing.assert_close(weights.values, moved_alone(first[0], list(gradients[:, 0]), training, shares))
