"""Stacks of small `train_network` tasks, and the same networks trained one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mucast_engine.networks.stack.objective import StackObjective
from mucast_engine.networks.stack.task import build_structure
from mucast_engine.networks.stack.tickers import read_ticker
from network_tasks import FEATURES, LOOKBACK, ticker_task
from task_files import Task

from mucast_engine.arrays import ArrayStore, Matrix, Message
from mucast_engine.networks.tasks import run_network_task

# With 16 per batch: several batches with a shorter last one, one batch fewer, and no whole batch.
LENGTHS = {"LONG": (59, 15, 25), "FEWER": (39, 10, 5), "SHORT": (13, 4, 1)}


def own_task(folder: Path, ticker: str, architecture: str, features: int = FEATURES, **changes: Any) -> Task:
    counts = LENGTHS[ticker]
    random = np.random.default_rng(counts)
    x = random.standard_normal((sum(counts) + LOOKBACK - 1, features)) * 3 + 1
    y = 0.004 * x[LOOKBACK - 1 :, 0] + 0.01 * random.standard_normal(sum(counts))
    own = folder / f"{len(list(folder.iterdir()))}"
    own.mkdir()
    given = {
        "x": x,
        "labels": y[: counts[0] + counts[1]],
        "parts": dict(zip(("train", "validate", "predict"), counts, strict=True)),
        "ticker": ticker,
        **changes,
    }
    return ticker_task(own, architecture, **given)


def own_tasks(folder: Path, architecture: str, **changes: Any) -> list[Task]:
    """One task per ticker of LENGTHS."""
    return [own_task(folder, ticker, architecture, **changes) for ticker in LENGTHS]


def alone(task: Task, store: ArrayStore) -> tuple[Message, Matrix, list[Message]]:
    """Result, predictions and progress."""
    reported: list[Message] = []
    result = run_network_task(task, store, reported.append)
    return result, np.load(result["predictions"]["ref"]), reported


def stacked(networks: list[Task], store: ArrayStore) -> tuple[list[Message], list[Message]]:
    """Results and progress; the predictions of each network alone are removed."""
    for task in networks:
        Path(task["predictions"]["ref"]).unlink(missing_ok=True)
    reported: list[Message] = []
    task = {"task": "train_stack", "networks": networks, "device": networks[0]["device"]}
    return run_network_task(task, store, reported.append)["results"], reported


def assert_alike(result: Message, expected: Message, predictions: Matrix, tolerance: float = 1e-4) -> None:
    assert result["best_epoch"] == expected["best_epoch"]
    assert result["zero_validation_loss"] == pytest.approx(expected["zero_validation_loss"], rel=1e-5)
    assert result["parameters"] == expected["parameters"]
    assert result.get("prediction_scale", 0.0) == pytest.approx(expected.get("prediction_scale", 0.0), rel=tolerance)
    for epoch, other in zip(result["epochs"], expected["epochs"], strict=True):
        assert epoch == pytest.approx(other, rel=tolerance, abs=tolerance / 100)
    near = tolerance * np.abs(predictions).max(initial=0.0)
    np.testing.assert_allclose(np.load(result["predictions"]["ref"]), predictions, rtol=tolerance, atol=near)


def assert_as_alone(networks: list[Task], store: ArrayStore) -> list[Message]:
    """Returns the results of the stack."""
    expected = [alone(task, store) for task in networks]
    results, _ = stacked(networks, store)
    for result, (own, predictions, _) in zip(results, expected, strict=True):
        assert_alike(result, own, predictions)
    return results


def make_objective(tasks: list[Task], store: ArrayStore) -> StackObjective:
    """The stack of `tasks`, before its first epoch."""
    tickers = [read_ticker(task, store) for task in tasks]
    return StackObjective(
        build_structure(tasks[0], tickers[0].rows.shape[1]),
        tickers,
        lookback=LOOKBACK,
        dropout=tasks[0]["network"]["dropout"],
        training=tasks[0]["training"],
        device=torch.device(tasks[0]["device"]),
    )
