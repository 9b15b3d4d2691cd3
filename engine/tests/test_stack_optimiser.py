"""The optimisers of a stack update each network like PyTorch's own, and leave waiting ones unchanged."""

from typing import Any

import pytest
import torch
from network_tasks import TRAINING, seeded
from torch import Tensor

from mucast_engine.networks.stack.optimiser import StackOptimiser

NETWORKS, WEIGHTS, STEPS = 3, 40, 30
OWN = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD, "rmsprop": torch.optim.RMSprop}


def moved_alone(values: Tensor, gradients: list[Tensor], training: dict[str, Any]) -> Tensor:
    weights = torch.nn.Parameter(values.clone())
    own = OWN[training["optimizer"]]([weights], lr=training["learning_rate"], weight_decay=training["weight_decay"])
    for gradient in gradients:
        weights.grad = gradient.clone()
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
