"""Tasks that train networks on small panels with a weak signal, as the engine's caller writes them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from task_files import Task, save

from mucast_engine.arrays import ArrayStore, Matrix, Message
from mucast_engine.networks.architectures import JointArchitecture, TickerArchitecture
from mucast_engine.networks.losses import LossName
from mucast_engine.networks.tasks import run_network_task

TRANSFORMER = {"d_model": 8, "nhead": 2, "num_layers": 2, "dim_feedforward": 12, "dropout": 0.0}
SPECS: dict[str, dict[str, Any]] = {
    "lstm": {"architecture": "lstm", "hidden_dims": [6, 5], "dropout": 0.0},
    "mlp": {"architecture": "mlp", "hidden_dims": [9, 5], "dropout": 0.0},
    "cnn": {"architecture": "cnn", "filters": [4, 6], "kernel_size": 3, "pool_size": 2, "dropout": 0.0},
    "transformer": {"architecture": "transformer", **TRANSFORMER},
    "portfolio_lstm": {"architecture": "portfolio_lstm", "hidden_dims": [6, 5], "dropout": 0.0},
    "portfolio_transformer": {"architecture": "portfolio_transformer", **TRANSFORMER},
}
ALONE: tuple[TickerArchitecture, ...] = get_args(TickerArchitecture)
JOINT: tuple[JointArchitecture, ...] = get_args(JointArchitecture)
LOSSES: tuple[LossName, ...] = get_args(LossName)


def sampled(cases: Iterable[Any], *kept: Any) -> list[Any]:
    """All cases in the release tier, and otherwise the kept ones."""
    return [case if case in kept else pytest.param(case, marks=pytest.mark.release) for case in cases]


TRAINING: dict[str, Any] = {
    "epochs": 3,
    "batch_size": 16,
    "learning_rate": 1e-3,
    "patience": 3,
    "optimizer": "adam",
    "weight_decay": 0.0,
    "grad_clip": 1.0,
    "loss": "mse",
    "monitor": "loss",
}
LOOKBACK, FEATURES, TICKERS = 8, 3, 4
PARTS = {"train": 60, "validate": 15, "predict": 25}


def ticker_data(seed: int = 1) -> tuple[Matrix, Matrix]:
    """Rows (107, 3), and labels of all 100 windows, which follow the row they end on."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((sum(PARTS.values()) + LOOKBACK - 1, FEATURES)) * [1, 10, 0.1] + [0, 5, 0]
    y = 0.004 * x[:, 0] + 0.01 * random.standard_normal(len(x))
    return x, y[LOOKBACK - 1 :]


def task_of(architecture: str, training: dict[str, Any], spec: dict[str, Any], changes: dict[str, Any]) -> Task:
    return {
        "network": {**SPECS[architecture], **spec},
        "training": {**TRAINING, **training},
        "scaler": "standard",
        "lookback": LOOKBACK,
        "seed": 42,
        "member": 0,
        "device": "cpu",
        **changes,
    }


def ticker_task(
    folder: Path,
    architecture: str,
    *,
    x: Matrix | None = None,
    labels: Matrix | None = None,
    ends: Matrix | None = None,
    parts: dict[str, int] = PARTS,
    training: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    **changes: Any,
) -> Task:
    """Every window of `ticker_data` once; keywords change the task."""
    own_x, own_labels = ticker_data()
    x = own_x if x is None else x
    labels = own_labels[: parts["train"] + parts["validate"]] if labels is None else labels
    ends = np.arange(sum(parts.values()), dtype=np.float64) + LOOKBACK - 1 if ends is None else ends
    return {
        "task": "train_network",
        "ticker": "AAA",
        "x": save(folder, "x.npy", x),
        "ends": save(folder, "ends.npy", ends),
        "labels": save(folder, "labels.npy", labels),
        "parts": parts,
        "predictions": {"ref": str(folder / "predictions.npy")},
        **task_of(architecture, training or {}, spec or {}, changes),
    }


def joint_data() -> tuple[list[Matrix], Matrix, Matrix]:
    """Rows of each ticker, `ends` (100, tickers) with gaps, and labels (75, tickers), NaN in and beside the gaps.

    The second ticker starts later than the others; every date has at least one ticker.
    """
    data = [ticker_data(seed) for seed in range(TICKERS)]
    dates = sum(PARTS.values())
    random = np.random.default_rng(7)
    absent = random.random((dates, TICKERS)) < 0.2
    absent[:20, 1] = True
    absent[:, 0] &= ~absent[:, 1:].all(axis=1)
    ends = np.where(absent, -1.0, np.arange(dates)[:, None] + LOOKBACK - 1)
    unknown = absent | (random.random((dates, TICKERS)) < 0.05)
    labels = np.where(unknown, np.nan, np.stack([y for _, y in data], axis=1))
    return [x for x, _ in data], ends, labels[: PARTS["train"] + PARTS["validate"]]


def joint_task(
    folder: Path,
    architecture: str,
    *,
    rows: list[Matrix] | None = None,
    ends: Matrix | None = None,
    labels: Matrix | None = None,
    parts: dict[str, int] = PARTS,
    training: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    **changes: Any,
) -> Task:
    """`joint_data` by default; keywords change the task; the scaler of each ticker sees up to its last training window.

    Two epochs, because each covers all tickers.
    """
    own_rows, own_ends, own_labels = joint_data()
    rows, ends = own_rows if rows is None else rows, own_ends if ends is None else ends
    tickers = [
        {
            "ticker": f"T{place}",
            "x": save(folder, f"x{place}.npy", x),
            "columns": list(range(FEATURES)),
            "scale_rows": int(ends[: parts["train"], place].max()) + 1,
        }
        for place, x in enumerate(rows)
    ]
    return {
        "task": "train_joint",
        "tickers": tickers,
        "features": FEATURES,
        "ends": save(folder, "ends.npy", ends),
        "labels": save(folder, "labels.npy", own_labels if labels is None else labels),
        "parts": parts,
        "threads": 1,
        "predictions": {"ref": str(folder / "predictions.npy")},
        **task_of(architecture, {"epochs": 2, **(training or {})}, spec or {}, changes),
    }


def make(folder: Path, architecture: str, **changes: Any) -> Task:
    """A task of that architecture, for one ticker or joint."""
    return (joint_task if architecture in JOINT else ticker_task)(folder, architecture, **changes)


def run_whole(task: Task, store: ArrayStore) -> tuple[Matrix, Message, list[Message]]:
    """Predictions (validate + predict, of each ticker of a joint task), result and progress of a task."""
    reported: list[Message] = []
    result = run_network_task(task, store, reported.append)
    return np.load(result["predictions"]["ref"]), result, reported


def run(task: Task, store: ArrayStore) -> tuple[Matrix, Message, list[Message]]:
    """Like `run_whole`, without the predictions of the validation samples."""
    predicted, result, reported = run_whole(task, store)
    return predicted[task["parts"]["validate"] * len(task.get("tickers", [None])) :], result, reported


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
