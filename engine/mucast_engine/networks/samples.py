"""The samples of one ticker's network: its scaled rows and labels, the windows on them, and its seeds."""

import hashlib
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.networks.architectures import Network, build_network, start_quietly
from mucast_engine.networks.scaling import fit_scaling, scaled, target_scale

# Maximum number of windows in one batch of predictions, and of numbers in it.
PREDICTED_TOGETHER = 256
MAX_BATCH = 1 << 22


def derive_seed(seed: int, ticker: str, purpose: str, member: int = 0) -> int:
    """63 bits for one `purpose` (weights, order, dropout) of one network, whatever ran before; `ticker` is its name.

    `member` is its index in an ensemble. Member 0 has the seeds of a network without an ensemble.
    """
    parts = [str(seed), ticker, purpose, *([str(member)] if member > 0 else [])]
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little") >> 1


def generator_for(seed: int, ticker: str, purpose: str, member: int = 0) -> torch.Generator:
    """On the CPU whatever the device, so that a network starts and shuffles the same way everywhere."""
    return torch.Generator().manual_seed(derive_seed(seed, ticker, purpose, member))


class Windows:
    """All windows of `lookback` successive rows of one matrix (rows, features), of which each is a view."""

    def __init__(self, rows: Tensor, lookback: int) -> None:
        count, features = rows.shape
        self.lookback, self._features = lookback, features
        self._views = rows.as_strided((count - lookback + 1, lookback, features), (features, features, 1))

    def gather(self, ends: Tensor) -> Tensor:
        """Shape (n, lookback, features): the windows that end on rows `ends` (n), each at least lookback - 1."""
        return self._views[ends - (self.lookback - 1)]

    def batches(self, ends: Tensor) -> list[Tensor]:
        """`ends` in pieces of one size, the last padded with its own last element.

        The last bit of a row of a matrix product can depend on how many rows there are. With pieces of one size, a
        prediction does not depend on how many later ones there are.
        """
        size = max(1, min(PREDICTED_TOGETHER, MAX_BATCH // (self.lookback * self._features)))
        if len(ends) == 0:
            return []
        missing = -len(ends) % size
        return list(torch.cat([ends, ends[-1:].expand(missing)]).split(size))


class Ticker(NamedTuple):
    """What a `train_network` task says, alone or in a stack."""

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
    network: Network
    """With its first weights, on the CPU."""
    order: torch.Generator
    dropout_seed: int
    predictions: str


def read_ticker(task: Message, store: ArrayStore) -> Ticker:
    """Raises TaskError `constant_target`."""
    x, labels = store.read(task["x"]), store.read(task["labels"])
    ends = store.read(task["ends"]).astype(np.int64)
    train, seed, member = task["parts"]["train"], (task["seed"], task["ticker"]), task["member"]
    target = target_scale(labels[:train])
    learned = x[task.get("scale_from", 0) : ends[train - 1] + 1]
    rows = scaled(x, fit_scaling(task["scaler"], learned, task.get("z_scores", 0)))
    first = generator_for(*seed, "weights", member)
    network = build_network(task["network"], x.shape[1], task["lookback"], first)
    start_quietly(network, float(labels[:train].mean() / target))
    return Ticker(
        name=task["ticker"],
        member=member,
        block=task.get("block", 0),
        rows=rows,
        ends=ends,
        labels=(labels / target).astype(np.float32),
        target=target,
        train=train,
        validate=task["parts"]["validate"],
        network=network,
        order=generator_for(*seed, "order", member),
        dropout_seed=derive_seed(*seed, "dropout", member),
        predictions=task["predictions"]["ref"],
    )
