"""The rows of all tickers in one matrix, and which windows belong to which date."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mucast_engine.arrays import ArrayStore, Matrix, Message
from mucast_engine.failure import TaskError
from mucast_engine.networks.losses import Labels
from mucast_engine.networks.scaling import fit_scaling, scaled, target_scale
from mucast_engine.networks.windows import Windows

ABSENT = -1


class JointPanel(NamedTuple):
    windows: Windows
    """Over the rows of all tickers, one ticker after the other."""
    ends: Tensor
    """Shape (dates, tickers): the row on which a ticker's window ends, ABSENT if it has none."""
    labels: Labels
    """Shape (train + validate, tickers), scaled."""
    scales: Matrix
    """Shape (tickers): standard deviation of the training labels, log-return."""
    means: Tensor
    """Shape (tickers): mean of the scaled training labels."""
    level: float
    """Mean of all scaled training labels."""


def read_joint_panel(task: Message, store: ArrayStore, device: torch.device) -> JointPanel:
    """Scales each ticker by what was known when its training ended.

    Raises TaskError `constant_target`, or `insufficient_history` if there is no label to validate by.
    """
    ends, first_rows = store.read(task["ends"]).astype(np.int64), _first_rows(task)
    labels = np.array(store.read(task["labels"]))
    train, watched = np.split(labels, [task["parts"]["train"]])
    if np.isnan(watched).all():
        raise TaskError("insufficient_history", "no ticker has a label on the dates that validate")
    scales = np.array([target_scale(column[~np.isnan(column)]) for column in train.T])
    relative = labels / scales
    values = torch.from_numpy(np.nan_to_num(relative, nan=0.0).astype(np.float32)).to(device)
    return JointPanel(
        windows=Windows(torch.from_numpy(_all_rows(task, store)).to(device), task["lookback"]),
        ends=torch.from_numpy(np.where(ends >= 0, ends + first_rows, ABSENT)).to(device),
        labels=Labels(values, torch.from_numpy((~np.isnan(labels)).astype(np.float32)).to(device)),
        scales=scales,
        means=torch.from_numpy(np.nanmean(relative[: len(train)], axis=0).astype(np.float32)).to(device),
        level=float(np.nanmean(relative[: len(train)])),
    )


def _first_rows(task: Message) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Shape (tickers): the first row of each ticker in the matrix of all."""
    counts = [ticker["x"]["shape"][0] for ticker in task["tickers"]]
    return np.cumsum([0, *counts[:-1]], dtype=np.int64)


def _all_rows(task: Message, store: ArrayStore) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Shape (rows of all tickers, features of the union); 0 if a ticker lacks the feature."""
    total = sum(ticker["x"]["shape"][0] for ticker in task["tickers"])
    rows = np.zeros((total, task["features"]), dtype=np.float32)
    for ticker, first in zip(task["tickers"], _first_rows(task), strict=True):
        x = store.read(ticker["x"])
        scaling = fit_scaling(
            task["scaler"], x[ticker.get("scale_from", 0) : ticker["scale_rows"]], ticker.get("z_scores", 0)
        )
        rows[first : first + len(x), ticker["columns"]] = scaled(x, scaling)
    return rows
