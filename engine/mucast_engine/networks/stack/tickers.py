"""The rows, windows and labels of a stack's tickers side by side, padded to the longest of them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.networks.architectures import build_network, start_quietly
from mucast_engine.networks.losses import Labels
from mucast_engine.networks.scaling import fit_scaling, scaled, target_scale
from mucast_engine.networks.seeds import derive_seed, generator_for
from mucast_engine.networks.weights import FlatWeights
from mucast_engine.networks.windows import MAX_BATCH, Windows

# Windows of each network that are predicted at once; a stack of them fills the device.
PREDICTED_TOGETHER = 64


class StackTicker(NamedTuple):
    name: str
    member: int
    """Its index in the ensemble of that name."""
    block: int
    """The block of score rows that it forecasts."""
    rows: NDArray[np.float32]
    """Shape (rows, k), scaled."""
    ends: NDArray[np.int64]
    """Shape (train + validate + predict)."""
    labels: NDArray[np.float32]
    """Shape (train + validate), scaled."""
    target: float
    """Log-returns are scaled returns times this."""
    train: int
    validate: int
    weights: Tensor
    """Shape (p): the initial weights, in the network's order."""
    order: torch.Generator
    dropout_seed: int
    predictions: str


def read_ticker(task: Message, store: ArrayStore) -> StackTicker:
    """Reads a `train_network` task. Raises TaskError `constant_target`."""
    x, labels = store.read(task["x"]), store.read(task["labels"])
    ends = store.read(task["ends"]).astype(np.int64)
    train, member = task["parts"]["train"], task["member"]
    seed = (task["seed"], task["ticker"])
    target = target_scale(labels[:train])
    first = generator_for(*seed, "weights", member)
    network = build_network(task["network"], x.shape[1], task["lookback"], first)
    start_quietly(network, float(labels[:train].mean() / target))
    learned = x[task.get("scale_from", 0) : ends[train - 1] + 1]
    return StackTicker(
        name=task["ticker"],
        member=member,
        block=task.get("block", 0),
        rows=scaled(x, fit_scaling(task["scaler"], learned, task.get("z_scores", 0))),
        ends=ends,
        labels=(labels / target).astype(np.float32),
        target=target,
        train=train,
        validate=task["parts"]["validate"],
        weights=FlatWeights(network).values,
        order=generator_for(*seed, "order", member),
        dropout_seed=derive_seed(*seed, "dropout", member),
        predictions=task["predictions"]["ref"],
    )


class Part(NamedTuple):
    """Samples of each network that are predicted and not used for training."""

    samples: Tensor
    """Shape (S, n): sample numbers; a network with fewer repeats its last one."""
    known: Tensor
    """Shape (S, n), float32: 1 for its own samples, 0 for padding."""


class StackSamples:
    """Sample i of network s ends on a row of its own. `piece` samples of each network are predicted at once."""

    def __init__(self, tickers: Sequence[StackTicker], lookback: int, device: torch.device) -> None:
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
