"""The training loop of every network: shuffled batches, early stopping, the best epoch's weights.

Validation and forecasts use an average of the weights over about the steps of one epoch, because single steps follow
the noise of their batches, and so the seed that shuffled them. Training itself continues from the last step.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from mucast_engine.arrays import Matrix
from mucast_engine.failure import TaskError, unknown
from mucast_engine.networks.weights import FlatWeights, Optimiser

# The maximum loss, as a multiple of the largest squared label; on scaled returns the zero forecast has about 1.
EXPLODED = 1e6
LOSSES = ("train_loss", "validation_loss")
ADVICE = "lower learning_rate or weight_decay, or look for absurd values among the features"


class Objective(Protocol):
    """A network to train, on samples that are windows or dates."""

    weights: FlatWeights
    train_samples: int
    largest_loss: float
    """A training or validation loss beyond this has exploded; see `largest_loss`."""

    def gradient(self, batch: Tensor, step: int) -> Tensor:
        """Stores the gradient of the batch's loss in the weights' gradients and returns the loss, a scalar."""
        ...

    def validate(self) -> dict[str, float]:
        """`validation_loss` over the whole validation part, and `validation_ic` if training monitors it."""
        ...

    def zero_validation_loss(self) -> float:
        """The validation loss of the forecast 0."""
        ...


MonitorName = Literal["loss", "ic"]


class History(NamedTuple):
    epochs: list[dict[str, float]]
    best_epoch: int
    """Counted from 1."""
    zero_validation_loss: float
    """The validation loss of the forecast 0."""


def train(
    objective: Objective, training: dict[str, Any], order: torch.Generator, progress: Callable[[dict[str, Any]], None]
) -> History:
    """Trains until `patience` epochs in a row bring no improvement; keeps the best epoch's weights.

    Better is a lower validation loss or, with `monitor` ic, a higher validation IC. Raises TaskError `diverged` as soon
    as a loss is not finite or beyond `largest_loss`.
    """
    optimiser = Optimiser(objective.weights, training)
    epochs: list[dict[str, float]] = []
    values = objective.weights.values
    average, best_values = values.clone(), values.clone()
    best, best_epoch, steps = math.inf, 0, 0
    for epoch in range(1, training["epochs"] + 1):
        losses = torch.zeros((), dtype=torch.float64, device=values.device)
        batches = torch.randperm(objective.train_samples, generator=order).split(training["batch_size"])
        for batch in batches:
            losses += objective.gradient(batch, steps) * (len(batch) / objective.train_samples)
            optimiser.step()
            average.lerp_(values, 1 / len(batches))
            steps += 1
        last = values.clone()
        values.copy_(average)
        record = {"train_loss": losses.item(), **objective.validate()}
        check_losses(record, epoch, objective.largest_loss)
        epochs.append(record)
        progress({"epoch": epoch, **record})
        cost = monitored_cost(training["monitor"], record)
        if cost < best:
            best, best_epoch = cost, epoch
            best_values.copy_(average)
        elif epoch - best_epoch >= training["patience"]:
            break
        values.copy_(last)
    values.copy_(best_values)
    return History(epochs, best_epoch, objective.zero_validation_loss())


def monitored_cost(monitor: MonitorName, record: dict[str, float]) -> float:
    """What early stopping minimises."""
    match monitor:
        case "loss":
            return record["validation_loss"]
        case "ic":
            return -record["validation_ic"]
        case _:
            raise unknown("monitor", monitor)


def largest_loss(labels: Tensor) -> float:
    """The limit for `labels`, scaled returns with 0 if there is none.

    Most labels are about 1 in size, but returns are not centred: those of a steadily rising ticker are large.
    """
    return EXPLODED * max(1.0, float(labels.abs().max()) ** 2)


def check_losses(record: dict[str, float], epoch: int, largest: float) -> None:
    """Raises TaskError `diverged` if a loss of the epoch is not finite or beyond `largest`."""
    for name in LOSSES:
        loss = record[name]
        if not abs(loss) <= largest:
            said = f"{loss:.3g}" if math.isfinite(loss) else "not finite"
            raise TaskError(
                "diverged",
                f"the {name.replace('_', ' ')} of epoch {epoch} is {said}; {ADVICE}",
                {"epoch": epoch},
            )


def finite(predictions: Matrix) -> Matrix:
    """Raises TaskError `diverged` if a forecast cannot be used."""
    if not np.isfinite(predictions).all():
        raise TaskError("diverged", f"some forecasts are not finite; {ADVICE}")
    return predictions
