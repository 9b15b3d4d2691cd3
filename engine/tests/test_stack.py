"""A stack of networks learns what each of them learns alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Task
from network_tasks import ALONE, FEATURES, LOOKBACK, LOSSES, ticker_task

from mucast_engine.arrays import ArrayStore, Matrix, Message
from mucast_engine.networks.tasks import run_network_task

# Of 16 a batch: several batches with a shorter last one, one batch fewer, and no whole batch.
LENGTHS = {"LONG": (59, 15, 25), "FEWER": (39, 10, 5), "SHORT": (13, 4, 1)}


def tasks(folder: Path, architecture: str, **changes: Any) -> list[Task]:
    """One `train_network` task a ticker of LENGTHS."""
    return [own_task(folder, ticker, architecture, **changes) for ticker in LENGTHS]


def own_task(folder: Path, ticker: str, architecture: str, **changes: Any) -> Task:
    counts = LENGTHS[ticker]
    random = np.random.default_rng(counts)
    features = changes.pop("features", FEATURES)
    x = random.standard_normal((sum(counts) + LOOKBACK - 1, features)) * 3 + 1
    y = 0.004 * x[LOOKBACK - 1 :, 0] + 0.01 * random.standard_normal(sum(counts))
    own = folder / f"{ticker}{len(list(folder.iterdir()))}"
    own.mkdir()
    given = {
        "x": x,
        "labels": y[: counts[0] + counts[1]],
        "parts": dict(zip(("train", "validate", "predict"), counts, strict=True)),
        "ticker": ticker,
        **changes,
    }
    return ticker_task(own, architecture, **given)


def alone(task: Task, store: ArrayStore) -> tuple[Message, Matrix]:
    result = run_network_task(task, store, lambda told: None)
    return result, np.load(result["predictions"]["ref"])


def stacked(networks: list[Task], store: ArrayStore) -> tuple[list[Message], list[Message]]:
    """Results and progress; what the networks wrote alone is gone."""
    for task in networks:
        Path(task["predictions"]["ref"]).unlink(missing_ok=True)
    told: list[Message] = []
    task = {"task": "train_stack", "networks": networks, "device": networks[0]["device"]}
    return run_network_task(task, store, told.append)["results"], told


def assert_alike(result: Message, own: tuple[Message, Matrix]) -> None:
    expected, predictions = own
    assert result["best_epoch"] == expected["best_epoch"]
    assert result["parameters"] == expected["parameters"]
    assert result.get("prediction_scale", 0.0) == pytest.approx(expected.get("prediction_scale", 0.0), rel=1e-4)
    for epoch, other in zip(result["epochs"], expected["epochs"], strict=True):
        assert epoch == pytest.approx(other, rel=1e-4, abs=1e-6)
    np.testing.assert_allclose(
        np.load(result["predictions"]["ref"]), predictions, rtol=1e-4, atol=1e-4 * np.abs(predictions).max()
    )


def assert_as_alone(networks: list[Task], store: ArrayStore) -> None:
    expected = [alone(task, store) for task in networks]
    results, _ = stacked(networks, store)
    for result, own in zip(results, expected, strict=True):
        assert_alike(result, own)


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "rmsprop"])
@pytest.mark.parametrize("architecture", ALONE)
def test_networks_of_different_lengths_learn_as_alone(
    architecture: str, optimizer: str, tmp_path: Path, store: ArrayStore
) -> None:
    training = {"optimizer": optimizer, "learning_rate": 1e-2 if optimizer == "sgd" else 1e-3}
    assert_as_alone(tasks(tmp_path, architecture, training=training, spec={"dropout": 0.3}), store)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_is_that_of_a_network_alone(loss: str, tmp_path: Path, store: ArrayStore) -> None:
    assert_as_alone(tasks(tmp_path, "mlp", training={"loss": loss}), store)
