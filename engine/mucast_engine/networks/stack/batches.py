"""The batches of a stack: each network shuffles and counts as if it were alone, and waits if it has no batch left."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mucast_engine.networks.stack.tickers import StackTicker


class Batch(NamedTuple):
    """One step of all S networks."""

    samples: Tensor
    """Shape (S, B); entries from the count on repeat the batch."""
    counts: Tensor
    """Shape (S): samples of the batch, 0 for a network that has no batch left in the epoch or has stopped."""
    starts: Tensor
    """Shape (S): the start of its dropout masks."""


class StackBatches:
    """The plan of one epoch, in tensors with fixed addresses on the device, and a cursor that moves along it.

    `mask_starts` takes the number of steps of each network (S).
    """

    def __init__(
        self,
        tickers: Sequence[StackTicker],
        batch_size: int,
        mask_starts: Callable[[Sequence[int]], list[int]],
        device: torch.device,
    ) -> None:
        self.size = min(batch_size, max(ticker.train for ticker in tickers))
        self._tickers, self._batch_size, self._mask_starts = tickers, batch_size, mask_starts
        self._batches = [math.ceil(ticker.train / batch_size) for ticker in tickers]
        self.steps = max(self._batches)
        self._epochs = [0] * len(tickers)
        shape = (self.steps, len(tickers))
        self._samples = torch.zeros(*shape, self.size, dtype=torch.int64, device=device)
        self._counts = torch.zeros(shape, dtype=torch.int64, device=device)
        self._starts = torch.zeros(shape, dtype=torch.int64, device=device)
        self._cursor = torch.zeros(1, dtype=torch.int64, device=device)

    def plan(self, running: Sequence[bool]) -> None:
        """Shuffles the next epoch of the networks that are `running` (S) and goes to its first step."""
        samples, counts = torch.zeros(self._samples.shape, dtype=torch.int64), torch.zeros_like(self._counts.cpu())
        for network, ticker in enumerate(self._tickers):
            if running[network]:
                order = torch.randperm(ticker.train, generator=ticker.order)
                for step, batch in enumerate(order.split(self._batch_size)):
                    samples[step, network] = batch.repeat(math.ceil(self.size / len(batch)))[: self.size]
                    counts[step, network] = len(batch)
        done = [epochs * batches for epochs, batches in zip(self._epochs, self._batches, strict=True)]
        starts = [self._mask_starts([before + step for before in done]) for step in range(self.steps)]
        self._epochs = [epochs + 1 for epochs in self._epochs]
        self._samples.copy_(samples)
        self._counts.copy_(counts)
        self._starts.copy_(torch.tensor(starts, dtype=torch.int64))
        self._cursor.zero_()

    def next(self) -> Batch:
        """The batch under the cursor, which then moves on, and at the end of the epoch back to its beginning."""
        samples, counts, starts = (
            column.index_select(0, self._cursor)[0] for column in (self._samples, self._counts, self._starts)
        )
        self._cursor.add_(1).remainder_(self.steps)
        return Batch(samples, counts, starts)
