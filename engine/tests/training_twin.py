"""Training as a plain PyTorch script does it: one optimiser over separate parameters, one loop, a copy of the best.

Forecasts are made with weights that move towards those of each step by one part of an epoch's number of steps.
"""

import hashlib
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from network_twins import weights_by_name
from torch import Tensor, nn
from torch.nn import functional

from mucast_engine.arrays import Matrix

OPTIMISERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD, "rmsprop": torch.optim.RMSprop}


class Trained(NamedTuple):
    epochs: list[tuple[float, float]]
    """Training and validation loss."""
    best_epoch: int
    weights: dict[str, Tensor]
    """The weights of the best epoch; the trained network also has them."""


def seed_for(seed: int, ticker: str, purpose: str) -> int:
    digest = hashlib.sha256(f"{seed}\0{ticker}\0{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "little") // 2


def loss_of(name: str, y: Tensor, p: Tensor, mean: Any = 0.0) -> Tensor:
    """One ticker's labels (n) and predictions (n); `mean` of the training labels."""
    match name:
        case "mse" | "mahalanobis":
            return functional.mse_loss(p, y)
        case "mae":
            return functional.l1_loss(p, y)
        case "huber":
            return functional.smooth_l1_loss(p, y)
        case "r2":
            spread = float(((y - mean) ** 2).sum())
            return ((y - p) ** 2).sum() / max(spread, 0.1 * len(y))
        case "directional":
            return -(((10 * y * p).sigmoid() - 0.5) * y.abs()).mean()
        case _:
            raise ValueError(f"the plain script does not know the loss {name!r}")


def train_plainly(
    network: nn.Module,
    training: dict[str, Any],
    samples: int,
    order_seed: int,
    batch_loss: Callable[[Tensor, int], Tensor],
    validation_loss: Callable[[], Tensor],
) -> Trained:
    """`batch_loss` takes the samples of a batch and the number of the step."""
    optimiser = OPTIMISERS[training["optimizer"]](
        network.parameters(), lr=training["learning_rate"], weight_decay=training["weight_decay"], foreach=False
    )
    order, step = torch.Generator().manual_seed(order_seed), 0
    epochs: list[tuple[float, float]] = []
    best, best_epoch, weights = math.inf, 0, dict[str, Tensor]()
    average = weights_of(network)
    for epoch in range(1, training["epochs"] + 1):
        shuffled, losses = torch.randperm(samples, generator=order), 0.0
        for first in range(0, samples, training["batch_size"]):
            batch = shuffled[first : first + training["batch_size"]]
            optimiser.zero_grad()
            loss = batch_loss(batch, step)
            loss.backward()
            if training["grad_clip"]:
                nn.utils.clip_grad_norm_(network.parameters(), training["grad_clip"])
            optimiser.step()
            for name, weight in weights_of(network).items():
                average[name] = average[name] + (weight - average[name]) / math.ceil(samples / training["batch_size"])
            losses += loss.item() * len(batch) / samples
            step += 1
        last = weights_of(network)
        put(network, average)
        with torch.no_grad():
            epochs.append((losses, validation_loss().item()))
        put(network, last)
        if epochs[-1][1] < best:
            best, best_epoch, weights = epochs[-1][1], epoch, {**average}
        elif epoch == best_epoch + training["patience"]:
            break
    put(network, weights)
    return Trained(epochs, best_epoch, weights)


def weights_of(network: nn.Module) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in weights_by_name(network)}


@torch.no_grad()
def put(network: nn.Module, weights: dict[str, Tensor]) -> None:
    for name, weight in weights_by_name(network):
        weight.copy_(weights[name])


def begin_quietly(network: nn.Module, level: float) -> None:
    """A hundredth of the read-out's weights, and the level as its bias."""
    weights = dict(network.named_parameters())
    with torch.no_grad():
        weights["readout.weight"].copy_(weights["readout.weight"] / 100)
        weights["readout.bias"].fill_(level)


def standardised(x: Matrix, known_rows: int) -> Tensor:
    known = x[:known_rows]
    return torch.from_numpy(((x - known.mean(axis=0)) / known.std(axis=0)).astype(np.float32))


def window(rows: Tensor, end: float, lookback: int) -> Tensor:
    return rows[int(end) - lookback + 1 : int(end) + 1]


def check_weights(network: nn.Module, expected: dict[str, Tensor]) -> None:
    """To 1e-5. A bias of attention keys changes no weight of attention, so its gradient is only rounding and is
    excluded."""
    weights = dict(network.named_parameters())
    assert set(weights) == set(expected)
    for name, weight in expected.items():
        own = weights[name].detach()
        if name.endswith("key_value.bias"):
            own, weight = own[len(own) // 2 :], weight[len(weight) // 2 :]
        np.testing.assert_allclose(own, weight, atol=1e-5, rtol=1e-5, err_msg=name)
