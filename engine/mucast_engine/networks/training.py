"""The training loop of every network: shuffled batches, early stopping, the best epoch's weights.

Validation and forecasts use an average of the weights over about the steps of one epoch, because single steps follow
the noise of their batches, and so the seed that shuffled them. Training itself continues from the last step.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from mucast_engine.arrays import Matrix, Message
from mucast_engine.failure import TaskError
from mucast_engine.networks.losses import SCALE_IS_OPEN, Labels, Loss, LossName, prediction_scale
from mucast_engine.networks.optimisers import FlatWeights, Optimiser

MonitorName = Literal["loss", "ic"]

# The maximum loss, as a multiple of the largest squared label; on scaled returns the zero forecast has about 1.
EXPLODED = 1e6
LOSSES = ("train_loss", "validation_loss")
ADVICE = "lower learning_rate or weight_decay, or look for absurd values among the features"


class Objective(ABC):
    """A network to train, on samples that are windows or dates: those to train on, those that validate, the rest."""

    def __init__(self, network: nn.Module, train_samples: int, labels: Labels, loss: Loss) -> None:
        """`labels` (train + validate) are scaled."""
        self.weights = FlatWeights(network)
        self.train_samples = train_samples
        self.largest_loss = largest_loss(labels.values)
        self._labels, self._loss = labels, loss
        self._validation = slice(train_samples, len(labels.values))

    @abstractmethod
    def gradient(self, batch: Tensor, step: int) -> Tensor:
        """Stores the gradient of the batch's loss in the weights' gradients and returns the loss, a scalar."""

    @abstractmethod
    def predict(self, part: slice) -> Tensor:
        """Scaled predictions of a part of the samples."""

    def labels_of(self, part: Tensor | slice) -> Labels:
        return Labels(*(column[part] for column in self._labels))

    def validate(self) -> dict[str, float]:
        """`validation_loss` over the whole validation part, and `validation_ic` if training monitors it."""
        loss = self._loss.mean(self.predict(self._validation), self.labels_of(self._validation))
        return {"validation_loss": float(loss)}

    def zero_validation_loss(self) -> float:
        """The validation loss of the forecast 0; a network must get below it to have learned anything."""
        labels = self.labels_of(self._validation)
        return float(self._loss.mean(torch.zeros_like(labels.values), labels)) + 0.0  # directional gives -0.0.

    def forecast(self, loss: LossName, result: Message) -> Matrix:
        """Scaled forecasts of the validation part and of the rest; adds `prediction_scale` to `result` if `loss` leaves
        it open."""
        # Each part by itself: the last bit of a prediction can depend on its position among those made at once.
        watched, rest = self.predict(self._validation), self.predict(slice(self._validation.stop, None))
        predicted = torch.cat([watched, rest]).double()
        if loss in SCALE_IS_OPEN:
            result["prediction_scale"] = prediction_scale(watched, self.labels_of(self._validation))
            predicted = predicted * result["prediction_scale"]
        return predicted.cpu().numpy()


class History(NamedTuple):
    epochs: list[dict[str, float]]
    best_epoch: int
    """Counted from 1."""
    zero_validation_loss: float


class Course:
    """The epochs of one network, until it stops: `patience` epochs in a row without an improvement, or divergence."""

    def __init__(self, training: dict[str, Any], largest: float, progress: Callable[[Message], None]) -> None:
        self._training, self._largest, self._progress = training, largest, progress
        self._monitor: MonitorName = training["monitor"]
        self._best = math.inf
        self.running = True
        self.failure: TaskError | None = None
        """`diverged`, if a loss is not finite or beyond `largest`."""
        self.epochs: list[dict[str, float]] = []
        self.best_epoch = 0

    def improves(self, record: dict[str, float]) -> bool:
        """Adds an epoch; returns whether it is the best so far.

        Better is a lower validation loss or, with `monitor` ic, a higher validation IC.
        """
        epoch = len(self.epochs) + 1
        for name in LOSSES:
            if not abs(record[name]) <= self._largest:
                said = f"{record[name]:.3g}" if math.isfinite(record[name]) else "not finite"
                message = f"the {name.replace('_', ' ')} of epoch {epoch} is {said}; {ADVICE}"
                self.failure, self.running = TaskError("diverged", message, {"epoch": epoch}), False
                return False
        self.epochs.append(record)
        self._progress({"epoch": epoch, **record})
        cost = -record["validation_ic"] if self._monitor == "ic" else record["validation_loss"]
        is_best = cost < self._best
        if is_best:
            self._best, self.best_epoch = cost, epoch
        self.running = epoch < self._training["epochs"] and epoch - self.best_epoch < self._training["patience"]
        return is_best


def train(
    objective: Objective, training: dict[str, Any], order: torch.Generator, progress: Callable[[Message], None]
) -> History:
    """Trains until the network stops, and restores the best epoch's weights. Raises TaskError `diverged`."""
    optimiser = Optimiser(objective.weights, training)
    course = Course(training, objective.largest_loss, progress)
    values = objective.weights.values
    average, best_values, steps = values.clone(), values.clone(), 0
    while course.running:
        losses = torch.zeros((), dtype=torch.float64, device=values.device)
        batches = torch.randperm(objective.train_samples, generator=order).split(training["batch_size"])
        for batch in batches:
            losses += objective.gradient(batch, steps) * (len(batch) / objective.train_samples)
            optimiser.step()
            average.lerp_(values, 1 / len(batches))
            steps += 1
        last = values.clone()
        values.copy_(average)
        if course.improves({"train_loss": losses.item(), **objective.validate()}):
            best_values.copy_(average)
        values.copy_(last)
    if course.failure is not None:
        raise course.failure
    values.copy_(best_values)
    return History(course.epochs, course.best_epoch, objective.zero_validation_loss())


def largest_loss(labels: Tensor) -> float:
    """A training or validation loss beyond this has exploded; `labels` are scaled returns, 0 if there is none.

    Most labels are about 1 in size, but returns are not centred: those of a steadily rising ticker are large.
    """
    return EXPLODED * max(1.0, float(labels.abs().max()) ** 2)


def finite(predictions: Matrix) -> Matrix:
    """Raises TaskError `diverged` if a forecast cannot be used."""
    if not np.isfinite(predictions).all():
        raise TaskError("diverged", f"some forecasts are not finite; {ADVICE}")
    return predictions
