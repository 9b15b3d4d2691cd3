"""The training loop of a stack: each network stops, fails and keeps its best epoch by itself."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from mucast_engine.arrays import Message
from mucast_engine.failure import TaskError
from mucast_engine.networks.stack.objective import StackObjective
from mucast_engine.networks.stack.tickers import StackTicker
from mucast_engine.networks.training import History, check_losses, largest_loss


def train_stacked(
    objective: StackObjective,
    tickers: Sequence[StackTicker],
    training: dict[str, Any],
    progress: Callable[[Message], None],
) -> list[History | TaskError]:
    """Trains the networks of `tickers` (S) until the last has stopped; each keeps the weights of its best epoch.

    A network that diverges has a TaskError `diverged` in its place.
    """
    courses = [Course(ticker, training["patience"], progress) for ticker in tickers]
    for epoch in range(1, training["epochs"] + 1):
        running = [course.running for course in courses]
        if not any(running):
            break
        losses = zip(courses, *objective.epoch(running), strict=True)
        objective.keep([course.running and course.improves(epoch, *own) for course, *own in losses])
    objective.restore()
    zero_losses = objective.zero_validation_losses()
    return [
        course.failure or History(course.epochs, course.best_epoch, zero_loss)
        for course, zero_loss in zip(courses, zero_losses, strict=True)
    ]


class Course:
    """The epochs of one network, until it stops or diverges."""

    def __init__(self, ticker: StackTicker, patience: int, progress: Callable[[Message], None]) -> None:
        own_block = {"block": ticker.block} if ticker.block > 0 else {}
        self._name = {"ticker": ticker.name, "member": ticker.member, **own_block}
        self._patience, self._progress = patience, progress
        self._largest = largest_loss(torch.from_numpy(ticker.labels))
        self.running = True
        self.failure: TaskError | None = None
        self.epochs: list[dict[str, float]] = []
        self.best_epoch = 0
        self._best = math.inf

    def improves(self, epoch: int, train_loss: float, validation_loss: float) -> bool:
        """Records the losses of an epoch in which it was running; returns whether it is the best so far."""
        record = {"train_loss": train_loss, "validation_loss": validation_loss}
        try:
            check_losses(record, epoch, self._largest)
        except TaskError as failure:
            self.failure, self.running = failure, False
            return False
        self.epochs.append(record)
        self._progress({**self._name, "epoch": epoch, **record})
        if validation_loss < self._best:
            self._best, self.best_epoch = validation_loss, epoch
            return True
        self.running = epoch - self.best_epoch < self._patience
        return False
