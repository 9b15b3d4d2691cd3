"""The windows and labels of a stack's tickers side by side, padded to the longest of them, and the batches of them."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mucast_engine.networks.losses import Labels
from mucast_engine.networks.samples import MAX_BATCH, Ticker, Windows

# Windows of each network that are predicted at once; a stack of them fills the device.
PREDICTED_TOGETHER = 64


class Part(NamedTuple):
    """Samples of each network that are predicted and not used for training."""

    samples: Tensor
    """Shape (S, n): sample numbers; a network with fewer repeats its last one."""
    known: Tensor
    """Shape (S, n), float32: 1 for its own samples, 0 for padding."""


class StackSamples:
    """Sample i of network s ends on a row of its own. `piece` samples of each network are predicted at once."""

    def __init__(self, tickers: Sequence[Ticker], lookback: int, device: torch.device) -> None:
        rows = _filled([torch.from_numpy(ticker.rows) for ticker in tickers])
        count, longest, features = rows.shape
        ends = _filled([torch.from_numpy(ticker.ends) for ticker in tickers]).clamp_(min=lookback - 1)
        self._ends = (ends + torch.arange(count)[:, None] * longest).to(device)
        self._windows = Windows(rows.view(-1, features).to(device), lookback)
        self._labels = _filled([torch.from_numpy(ticker.labels) for ticker in tickers]).to(device)
        self._lengths = [len(ticker.ends) for ticker in tickers]
        self._device = device
        self.piece = max(1, min(PREDICTED_TOGETHER, MAX_BATCH // (lookback * features)))

    def windows(self, samples: Tensor) -> Tensor:
        """Shape (S, n, lookback, features), of `samples` (S, n)."""
        return self._windows.gather(self._ends.gather(1, samples))

    def labels(self, samples: Tensor, known: Tensor) -> Labels:
        return Labels(self._labels.gather(1, samples), known)

    def part(self, begins: Sequence[int], counts: Sequence[int]) -> Part:
        """`counts` (S) samples of each network from `begins` (S) on, padded to whole pieces of predictions."""
        n = math.ceil(max(1, *counts) / self.piece) * self.piece
        positions = torch.arange(n)[None]
        begin, count = torch.tensor(begins)[:, None], torch.tensor(counts)[:, None]
        samples = begin + torch.minimum(positions, (count - 1).clamp(min=0))
        inside = torch.minimum(samples, torch.tensor(self._lengths)[:, None] - 1)
        return Part(inside.to(self._device), (positions < count).to(torch.float32).to(self._device))


def _filled(pieces: Sequence[Tensor]) -> Tensor:
    """Stacks pieces (n, ...), padded with zeros to the longest."""
    return torch.nn.utils.rnn.pad_sequence(list(pieces), batch_first=True)


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

    Each network shuffles and counts as if it were alone. `mask_starts` takes the number of steps of each (S).
    """

    def __init__(
        self,
        tickers: Sequence[Ticker],
        batch_size: int,
        mask_starts: Callable[[Sequence[int]], list[int]],
        device: torch.device,
    ) -> None:
        self.size = min(batch_size, max(ticker.train for ticker in tickers))
        self._tickers, self._batch_size, self._mask_starts = tickers, batch_size, mask_starts
        self.counts = [math.ceil(ticker.train / batch_size) for ticker in tickers]
        """Shape (S): batches of an epoch."""
        self.steps = max(self.counts)
        self._epochs = 0
        shape = (self.steps, len(tickers))
        self._plan = Batch(
            torch.zeros(*shape, self.size, dtype=torch.int64, device=device),
            torch.zeros(shape, dtype=torch.int64, device=device),
            torch.zeros(shape, dtype=torch.int64, device=device),
        )
        self._cursor = torch.zeros(1, dtype=torch.int64, device=device)

    def plan(self, running: Sequence[bool]) -> None:
        """Shuffles the next epoch of the networks that are `running` (S) and goes to its first step."""
        samples, counts = (torch.zeros(column.shape, dtype=torch.int64) for column in self._plan[:2])
        for network, ticker in enumerate(self._tickers):
            if running[network]:
                order = torch.randperm(ticker.train, generator=ticker.order)
                for step, batch in enumerate(order.split(self._batch_size)):
                    samples[step, network] = batch.repeat(math.ceil(self.size / len(batch)))[: self.size]
                    counts[step, network] = len(batch)
        starts = [self._mask_starts([self._epochs * own + step for own in self.counts]) for step in range(self.steps)]
        self._epochs += 1
        for column, values in zip(self._plan, (samples, counts, torch.tensor(starts)), strict=True):
            column.copy_(values)
        self._cursor.zero_()

    def next(self) -> Batch:
        """The batch under the cursor, which then moves on, and at the end of the epoch back to its beginning."""
        batch = Batch(*(column.index_select(0, self._cursor)[0] for column in self._plan))
        self._cursor.add_(1).remainder_(self.steps)
        return batch
