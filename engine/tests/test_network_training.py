"""The network of one ticker, trained by the engine and by a plain script."""

from pathlib import Path
from typing import Any

import loss_twins
import numpy as np
import pytest
import torch
from dropout_twin import mask_twins
from network_tasks import ALONE, FEATURES, LOOKBACK, LOSSES, PARTS, run_whole, sampled, ticker_data, ticker_task
from network_twins import twin_of
from task_files import Task
from torch import Tensor, nn
from training_twin import begin_quietly, check_weights, loss_of, seed_for, standardised, train_plainly, window

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.failure import TaskError
from mucast_engine.networks import samples
from mucast_engine.networks.architectures import build_network
from mucast_engine.networks.tasks import run_network_task

TRAIN, FITTED = PARTS["train"], PARTS["train"] + PARTS["validate"]
CHANGES: list[dict[str, Any]] = [
    {"optimizer": "adam"},
    {"optimizer": "sgd", "learning_rate": 0.1},
    {"optimizer": "rmsprop"},
    {"optimizer": "adam", "weight_decay": 0.1, "grad_clip": 0},
    {"optimizer": "sgd", "learning_rate": 0.1, "weight_decay": 0.1, "grad_clip": 0},
    {"optimizer": "rmsprop", "weight_decay": 0.1, "grad_clip": 0.05},
]


def check(task: Task, store: ArrayStore, monkeypatch: pytest.MonkeyPatch) -> Message:
    """Trains both ways and compares losses, weights and predictions."""
    built: list[nn.Module] = []

    def build(*arguments: Any) -> nn.Module:
        built.append(build_network(*arguments))
        return built[-1]

    monkeypatch.setattr(samples, "build_network", build)
    predicted, result, reported = run_whole(task, store)

    x, ends, labels = (np.load(task[name]["ref"]) for name in ("x", "ends", "labels"))
    rows, deviation = standardised(x, int(ends[TRAIN - 1]) + 1), np.std(labels[:TRAIN])
    y = torch.from_numpy((labels / deviation).astype(np.float32))
    windows = torch.stack([window(rows, end, LOOKBACK) for end in ends])
    spec, loss, seed = task["network"], task["training"]["loss"], task["seed"]
    first = torch.Generator().manual_seed(seed_for(seed, task["ticker"], "weights"))
    network, mean = build_network(spec, FEATURES, LOOKBACK, first), float(y[:TRAIN].mean())
    begin_quietly(network, mean)
    twin = twin_of(network, spec, FEATURES, LOOKBACK)

    def batch_loss(batch: Tensor, step: int) -> Tensor:
        masks = None
        if spec["dropout"] > 0:
            drop_seed = seed_for(seed, task["ticker"], "dropout")
            masks = iter(mask_twins(spec["dropout"], drop_seed, step, network.encoder.mask_shapes(len(batch))))
        return loss_of(loss, y[batch], twin(windows[batch], masks), mean)

    def validation_loss() -> Tensor:
        return loss_of(loss, y[TRAIN:], twin(windows[TRAIN:FITTED]), mean)

    order = seed_for(seed, task["ticker"], "order")
    plain = train_plainly(twin, task["training"], TRAIN, order, batch_loss, validation_loss)
    losses = [(epoch["train_loss"], epoch["validation_loss"]) for epoch in result["epochs"]]
    np.testing.assert_allclose(losses, plain.epochs, rtol=1e-5, atol=1e-6)
    assert result["best_epoch"] == plain.best_epoch
    assert [update["epoch"] for update in reported] == list(range(1, len(losses) + 1))
    zero = loss_of(loss, y[TRAIN:], torch.zeros(FITTED - TRAIN), mean).item()
    assert result["zero_validation_loss"] == pytest.approx(zero, rel=1e-5)
    check_weights(built[0], plain.weights)
    with torch.no_grad():
        expected = twin(windows).double().numpy()
    if loss == "directional":
        scale = loss_twins.scale(expected[TRAIN:FITTED], y[TRAIN:].double().numpy())
        assert result["prediction_scale"] == pytest.approx(scale, rel=1e-4)
        assert scale > 0
        expected = expected * scale
    else:
        assert "prediction_scale" not in result
    np.testing.assert_allclose(predicted, expected[TRAIN:] * deviation, atol=1e-7)
    assert np.abs(predicted).max() > 1e-4
    return result


@pytest.mark.parametrize(
    "changes",
    sampled(CHANGES, CHANGES[0], CHANGES[-1]),
    ids=lambda changes: "-".join(str(value) for value in changes.values()),
)
@pytest.mark.parametrize("architecture", ALONE)
def test_training_equals_a_plain_script(
    architecture: str, changes: dict[str, Any], tmp_path: Path, store: ArrayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(ticker_task(tmp_path, architecture, training=changes, lookback=LOOKBACK), store, monkeypatch)


@pytest.mark.parametrize("architecture", sampled(ALONE, "lstm", "transformer"))
def test_training_under_dropout_equals_a_plain_script_with_the_same_masks(
    architecture: str, tmp_path: Path, store: ArrayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(ticker_task(tmp_path, architecture, spec={"dropout": 0.3}), store, monkeypatch)


@pytest.mark.parametrize("loss", LOSSES)
def test_training_with_every_loss_equals_a_plain_script(
    loss: str, tmp_path: Path, store: ArrayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = {"loss": loss, "learning_rate": 0.05}
    x, y = ticker_data(seed=7)  # Data for which the directional forecasts are useful.
    result = check(ticker_task(tmp_path, "mlp", x=x, labels=y[:FITTED], training=training), store, monkeypatch)
    if loss == "directional":
        assert str(result["zero_validation_loss"]) == "0.0"


def test_the_best_epochs_weights_make_the_predictions(
    tmp_path: Path, store: ArrayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = {"epochs": 40, "patience": 3, "learning_rate": 0.02, "batch_size": 60}
    x, y = ticker_data(seed=7)  # Data with something to learn.
    result = check(ticker_task(tmp_path, "mlp", x=x, labels=y[:FITTED], training=training), store, monkeypatch)
    assert 1 < result["best_epoch"] < len(result["epochs"]) < 40
    assert len(result["epochs"]) == result["best_epoch"] + 3


@pytest.mark.parametrize("name", ["learning_rate", "weight_decay", "grad_clip"])
def test_a_number_that_json_writes_without_a_fraction_is_the_same_number(
    name: str, tmp_path: Path, store: ArrayStore
) -> None:
    def outcome(value: float) -> tuple[str, list[Message]]:
        """Code and message of the task's error, or "", and the epochs before it."""
        epochs: list[Message] = []
        try:
            run_network_task(ticker_task(tmp_path, "mlp", training={name: value}), store, epochs.append)
        except TaskError as error:
            return f"{error.code}: {error.message}", epochs
        return "", epochs

    assert outcome(10**20) == outcome(1e20)
