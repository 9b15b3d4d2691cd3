"""Task `train_network`: one network on the windows of one ticker."""

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.networks.architectures import Network, build_network, parameter_count, start_quietly
from mucast_engine.networks.dropout import DropoutMasks
from mucast_engine.networks.losses import (
    Labels,
    LossName,
    leaves_scale_open,
    loss_of_zero,
    make_loss,
    prediction_scale,
)
from mucast_engine.networks.scaling import fit_scaling, scaled, target_scale
from mucast_engine.networks.seeds import derive_seed, generator_for
from mucast_engine.networks.training import finite, largest_loss, train
from mucast_engine.networks.weights import FlatWeights
from mucast_engine.networks.windows import Windows


def train_network(task: Message, store: ArrayStore, progress: Callable[[Message], None]) -> Message:
    """Trains on the first `parts.train` of `ends`, stops by the next `parts.validate`, predicts these and the rest.

    Writes predictions (validate + predict), log-returns. Raises TaskError `diverged` or `constant_target`.
    """
    started = time.perf_counter()
    torch.set_num_threads(1)
    device = torch.device(task["device"])
    x, labels = store.read(task["x"]), store.read(task["labels"])
    ends = store.read(task["ends"]).astype(np.int64)
    parts = task["parts"]
    seed, member = (task["seed"], task["ticker"]), task["member"]
    target = target_scale(labels[: parts["train"]])
    learned = x[task.get("scale_from", 0) : ends[parts["train"] - 1] + 1]
    rows = scaled(x, fit_scaling(task["scaler"], learned, task.get("z_scores", 0)))
    network = build_network(task["network"], x.shape[1], task["lookback"], generator_for(*seed, "weights", member))
    start_quietly(network, float(labels[: parts["train"]].mean() / target))
    objective = TickerObjective(
        network=network.to(device),
        windows=Windows(torch.from_numpy(rows).to(device), task["lookback"]),
        ends=torch.from_numpy(ends).to(device),
        labels=torch.from_numpy((labels / target).astype(np.float32)).to(device),
        train_samples=parts["train"],
        loss=task["training"]["loss"],
        masks=DropoutMasks(task["network"]["dropout"], derive_seed(*seed, "dropout", member), device),
    )
    history = train(objective, task["training"], generator_for(*seed, "order", member), progress)
    result: Message = {**history._asdict(), "parameters": parameter_count(network)}
    # Each part by itself: the last bit of a prediction can depend on its position among those made at once.
    watched = objective.predict(slice(parts["train"], parts["train"] + parts["validate"]))
    rest = objective.predict(slice(parts["train"] + parts["validate"], None))
    predicted = torch.cat([watched, rest]).double()
    if leaves_scale_open(task["training"]["loss"]):
        result["prediction_scale"] = objective.prediction_scale()
        predicted = predicted * result["prediction_scale"]
    result["predictions"] = store.write(task["predictions"]["ref"], finite(predicted.cpu().numpy() * target))
    return {**result, "seconds": time.perf_counter() - started}


class TickerObjective:
    """Windows of one ticker; `labels` (train + validate) are scaled."""

    def __init__(
        self,
        *,
        network: Network,
        windows: Windows,
        ends: Tensor,
        labels: Tensor,
        train_samples: int,
        loss: LossName,
        masks: DropoutMasks,
    ) -> None:
        self.weights = FlatWeights(network)
        self.train_samples = train_samples
        self._network, self._windows, self._ends, self._masks = network, windows, ends, masks
        self._labels, self._known = labels, torch.ones_like(labels)
        self._loss = make_loss(loss, labels[:train_samples].mean())
        self._validation_part = slice(train_samples, len(labels))
        self.largest_loss = largest_loss(labels)

    def gradient(self, batch: Tensor, step: int) -> Tensor:
        self.weights.gradients.zero_()
        batch = batch.to(self._ends.device)
        masks = self._masks.draw(step, self._network.mask_shapes(len(batch)))
        labels = Labels(self._labels[batch], self._known[: len(batch)])
        predictions = self._network(self._windows.gather(self._ends[batch]), masks)
        loss = self._loss.total(predictions, labels) / self._loss.denominator(labels)
        loss.backward()
        return loss.detach()

    def validate(self) -> dict[str, float]:
        predictions, labels = self._validation()
        return {"validation_loss": float(self._loss.total(predictions, labels) / self._loss.denominator(labels))}

    def zero_validation_loss(self) -> float:
        return loss_of_zero(self._loss, self._watched())

    def prediction_scale(self) -> float:
        return prediction_scale(*self._validation())

    def _validation(self) -> tuple[Tensor, Labels]:
        return self.predict(self._validation_part), self._watched()

    def _watched(self) -> Labels:
        return Labels(self._labels[self._validation_part], self._known[self._validation_part])

    @torch.no_grad()
    def predict(self, part: slice) -> Tensor:
        """Scaled predictions of a part of the samples."""
        ends = self._ends[part]
        pieces = [self._network(self._windows.gather(piece), None) for piece in self._windows.batches(ends)]
        return torch.cat([*pieces, self._labels[:0]])[: len(ends)]
