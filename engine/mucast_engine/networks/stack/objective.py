"""One step and one validation of all networks of a stack, on tensors with fixed addresses."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mucast_engine.networks.architectures import Network
from mucast_engine.networks.losses import Labels, prediction_scale
from mucast_engine.networks.stack.batches import StackBatches
from mucast_engine.networks.stack.masks import StackMasks
from mucast_engine.networks.stack.network import StackedNetwork, stacked_losses, stacked_values
from mucast_engine.networks.stack.optimiser import StackOptimiser
from mucast_engine.networks.stack.tickers import Part, StackSamples, StackTicker


class StackObjective:
    """The networks of `tickers` (S); `network` is one of their shape without LSTM layers, `dropout` its rate."""

    def __init__(
        self,
        network: Network,
        tickers: Sequence[StackTicker],
        *,
        lookback: int,
        dropout: float,
        training: dict[str, Any],
        device: torch.device,
    ) -> None:
        count = len(tickers)
        self._network = StackedNetwork(network, stacked_values([ticker.weights for ticker in tickers], device))
        self._samples = StackSamples(tickers, lookback, device)
        batch = min(training["batch_size"], max(ticker.train for ticker in tickers))
        seeds = [ticker.dropout_seed for ticker in tickers]
        self._masks = StackMasks(dropout, seeds, network.mask_shapes, batch, device)
        self._batches = StackBatches(tickers, training["batch_size"], self._masks.starts, device)
        self._optimiser = StackOptimiser(self._network.values, training)
        self._loss = training["loss"]
        self._trains = torch.tensor([ticker.train for ticker in tickers], device=device)
        self._means = torch.stack([torch.from_numpy(t.labels[: t.train]).mean() for t in tickers]).to(device)
        self._validation = self._samples.part([t.train for t in tickers], [t.validate for t in tickers])
        self._positions = torch.arange(batch, device=device)
        self._train_losses = torch.zeros(count, dtype=torch.float64, device=device)
        self._validation_losses = torch.zeros(count, device=device)
        self._best = self._network.values.detach().clone()
        self._average = self._best.clone()
        self._last = torch.zeros_like(self._best)
        batches = [math.ceil(ticker.train / training["batch_size"]) for ticker in tickers]
        self._average_steps = torch.tensor([[1 / own] for own in batches], device=device)
        self._step = replayable(self._work_step, device)
        self._validate = replayable(self._work_validation, device)

    def epoch(self, running: Sequence[bool]) -> tuple[list[float], list[float]]:
        """One epoch of the networks that are `running` (S): their training and validation losses (S)."""
        self._batches.plan(running)
        self._train_losses.zero_()
        for _ in range(self._batches.steps):
            self._step()
        self._validate()
        return self._train_losses.tolist(), self._validation_losses.tolist()

    def keep(self, improved: Sequence[bool]) -> None:
        """Stores the current weights of networks that have `improved` (S) as their best."""
        rows = torch.tensor(improved, device=self._best.device)[:, None]
        self._best.copy_(torch.where(rows, self._average, self._best))

    @torch.no_grad()
    def restore(self) -> None:
        """Restores the best weights of every network."""
        self._network.values.copy_(self._best)

    def predict(self, begins: Sequence[int], counts: Sequence[int]) -> list[Tensor]:
        """Scaled predictions of `counts` (S) samples of each network from `begins` (S) on."""
        predictions = self._predict(self._samples.part(begins, counts))
        return [row[:count] for row, count in zip(predictions, counts, strict=True)]

    def zero_validation_losses(self) -> list[float]:
        """Validation losses (S) of the forecast 0."""
        labels = self._samples.labels(*self._validation)
        losses = stacked_losses(self._loss, torch.zeros_like(labels.values), labels, self._means)
        return (losses + 0.0).tolist()  # directional gives -0.0.

    def prediction_scales(self) -> list[float]:
        predictions, labels = self._predict(self._validation), self._samples.labels(*self._validation)
        rows = zip(predictions, *labels, strict=True)
        return [prediction_scale(row, Labels(values, known)) for row, values, known in rows]

    def _work_step(self) -> None:
        samples, counts, starts = self._batches.next()
        known = (self._positions < counts[:, None]).to(torch.float32)
        predictions = self._network(self._samples.windows(samples), self._masks.draw(starts, counts))
        losses = stacked_losses(self._loss, predictions, self._samples.labels(samples, known), self._means)
        (gradients,) = torch.autograd.grad(losses.sum(), self._network.values)
        active = counts > 0
        self._optimiser.step(gradients, active)
        # Weights that explode in the last batch of an epoch leave its loss unchanged.
        self._train_losses += (losses.detach() * (counts / self._trains)).masked_fill(~active, 0.0)
        steps = self._average_steps.masked_fill(~active[:, None], 0.0)
        self._average.lerp_(self._network.values.detach(), steps.expand_as(self._average))

    @torch.no_grad()
    def _work_validation(self) -> None:
        """With the averaged weights; training continues from the last ones."""
        self._last.copy_(self._network.values)
        self._network.values.copy_(self._average)
        labels = self._samples.labels(*self._validation)
        losses = stacked_losses(self._loss, self._predict(self._validation), labels, self._means)
        self._validation_losses.copy_(losses)
        self._network.values.copy_(self._last)

    @torch.no_grad()
    def _predict(self, part: Part) -> Tensor:
        """Shape (S, n), in pieces of one size, as for a network alone."""
        pieces = part.samples.split(self._samples.piece, dim=1)
        return torch.cat([self._network(self._samples.windows(piece), []) for piece in pieces], dim=1)


# As many as PyTorch's own make_graphed_callables uses.
WARM_UPS = 3


def replayable(work: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """`work` itself, or on CUDA a replay of it.

    `work` reads and writes tensors with fixed addresses, never waits for the device, and may be called a few times as a
    warm-up. The current CUDA device is `device`.
    """
    if device.type != "cuda":
        return work
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UPS):
            work()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay
