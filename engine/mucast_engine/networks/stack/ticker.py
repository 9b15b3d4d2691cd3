"""What a stack needs of one ticker's task, scaled and ready as if it were trained alone."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.networks.architectures import build_network
from mucast_engine.networks.scaling import fit_scaling, scaled
from mucast_engine.networks.seeds import derive_seed, generator_for
from mucast_engine.networks.targets import target_scale


class StackTicker(NamedTuple):
    name: str
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
    """Shape (p): the first ones, as the network names them."""
    order: torch.Generator
    dropout_seed: int
    predictions: str


def read_ticker(task: Message, store: ArrayStore) -> StackTicker:
    """Reads a `train_network` task. Raises TaskError `constant_target`."""
    x, labels = store.read(task["x"]), store.read(task["labels"])
    ends = store.read(task["ends"]).astype(np.int64)
    train, seed = task["parts"]["train"], (task["seed"], task["ticker"])
    target = target_scale(labels[:train])
    network = build_network(task["network"], x.shape[1], task["lookback"], generator_for(*seed, "weights"))
    return StackTicker(
        name=task["ticker"],
        rows=scaled(x, fit_scaling(task["scaler"], x[: ends[train - 1] + 1])),
        ends=ends,
        labels=(labels / target).astype(np.float32),
        target=target,
        train=train,
        validate=task["parts"]["validate"],
        weights=torch.cat([weight.detach().flatten() for weight in network.parameters()]),
        order=generator_for(*seed, "order"),
        dropout_seed=derive_seed(*seed, "dropout"),
        predictions=task["predictions"]["ref"],
    )
