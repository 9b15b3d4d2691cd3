"""Task `train_network`: one network on the windows of one ticker."""

import time
from collections.abc import Callable

import torch
from torch import Tensor

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.networks.architectures import parameter_count
from mucast_engine.networks.dropout import DropoutMasks
from mucast_engine.networks.losses import Labels, make_loss
from mucast_engine.networks.samples import Ticker, Windows, read_ticker
from mucast_engine.networks.training import Objective, finite, train


def train_network(task: Message, store: ArrayStore, progress: Callable[[Message], None]) -> Message:
    """Trains on the first `parts.train` of `ends`, stops by the next `parts.validate`, predicts these and the rest.

    Writes predictions (validate + predict), log-returns. Raises TaskError `diverged` or `constant_target`.
    """
    started = time.perf_counter()
    torch.set_num_threads(1)
    ticker, training = read_ticker(task, store), task["training"]
    objective = TickerObjective(ticker, task, torch.device(task["device"]))
    history = train(objective, training, ticker.order, progress)
    result: Message = {**history._asdict(), "parameters": parameter_count(ticker.network)}
    predicted = objective.forecast(training["loss"], result)
    result["predictions"] = store.write(ticker.predictions, finite(predicted * ticker.target))
    return {**result, "seconds": time.perf_counter() - started}


class TickerObjective(Objective):
    """Windows of one ticker."""

    def __init__(self, ticker: Ticker, task: Message, device: torch.device) -> None:
        labels = torch.from_numpy(ticker.labels).to(device)
        loss = make_loss(task["training"]["loss"], labels[: ticker.train].mean())
        self._network = ticker.network.to(device)
        super().__init__(self._network, ticker.train, Labels(labels, torch.ones_like(labels)), loss)
        self._windows = Windows(torch.from_numpy(ticker.rows).to(device), task["lookback"])
        self._ends = torch.from_numpy(ticker.ends).to(device)
        self._masks = DropoutMasks(task["network"]["dropout"], ticker.dropout_seed, device)

    def gradient(self, batch: Tensor, step: int) -> Tensor:
        self.weights.gradients.zero_()
        batch = batch.to(self._ends.device)
        masks = self._masks.draw(step, self._network.encoder.mask_shapes(len(batch)))
        predictions = self._network(self._windows.gather(self._ends[batch]), masks)
        loss = self._loss.mean(predictions, self.labels_of(batch))
        loss.backward()
        return loss.detach()

    @torch.no_grad()
    def predict(self, part: slice) -> Tensor:
        ends = self._ends[part]
        pieces = [self._network(self._windows.gather(piece), None) for piece in self._windows.batches(ends)]
        return torch.cat([*pieces, self._labels.values[:0]])[: len(ends)]
