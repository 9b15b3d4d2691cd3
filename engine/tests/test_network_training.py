from pathlib import Path
from typing import Any, NamedTuple

import loss_twins
import numpy as np
import pytest
import torch
from dropout_twin import mask_twins
from mucast_engine.networks.seeds import generator_for
from network_tasks import ALONE, FEATURES, LOOKBACK, LOSSES, PARTS, run_whole, sampled, ticker_data, ticker_task
from network_twins import twin_of
from task_files import Task
from torch import Tensor, nn
from training_twin import Trained, begin_quietly, check_weights, loss_of, seed_for, standardised, train_plainly, window

from mucast_engine.arrays import ArrayStore, Matrix, Message
from mucast_engine.failure import TaskError
from mucast_engine.networks import train_network
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


class Plain(NamedTuple):
    trained: Trained
    zero_loss: float
    """The loss of the forecast 0 on the validation windows."""
    predictions: Matrix
    """Predictions of the validation windows and of the rest."""
    prediction_scale: float


def train_twin(task: Task) -> Plain:
    """The task's network, trained and used by the plain script."""
    x, ends, labels = (np.load(task[name]["ref"]) for name in ("x", "ends", "labels"))
    rows, deviation = standardised(x, int(ends[TRAIN - 1]) + 1), np.std(labels[:TRAIN])
    y = torch.from_numpy((labels / deviation).astype(np.float32))
    windows = torch.stack([window(rows, end, LOOKBACK) for end in ends])
    spec, loss, seed = task["network"], task["training"]["loss"], task["seed"]
    network = build_network(spec, FEATURES, LOOKBACK, generator_for(seed, task["ticker"], "weights"))
    mean = float(y[:TRAIN].mean())
    begin_quietly(network, mean)
    twin = twin_of(network, spec, FEATURES, LOOKBACK)

    def batch_loss(batch: Tensor, step: int) -> Tensor:
        masks = None
        if spec["dropout"] > 0:
            drop_seed = seed_for(seed, task["ticker"], "dropout")
            masks = iter(mask_twins(spec["dropout"], drop_seed, step, network.mask_shapes(len(batch))))
        return loss_of(loss, y[batch], twin(windows[batch], masks), mean)

    def validation_loss() -> Tensor:
        return loss_of(loss, y[TRAIN:], twin(windows[TRAIN:FITTED]), mean)

    order = seed_for(seed, task["ticker"], "order")
    trained = train_plainly(twin, task["training"], TRAIN, order, batch_loss, validation_loss)
    with torch.no_grad():
        predicted = twin(windows).double().numpy()
    scale = 1.0
    if loss == "directional":
        p, watched = predicted[TRAIN:FITTED], y[TRAIN:].double().numpy()
        scale = loss_twins.scale(p, watched)
    zero = loss_of(loss, y[TRAIN:], torch.zeros(FITTED - TRAIN), mean).item()
    return Plain(trained, zero, predicted[TRAIN:] * scale * deviation, scale)


@pytest.fixture
def networks(monkeypatch: pytest.MonkeyPatch) -> list[nn.Module]:
    """The networks that tasks build from here on, in order."""
    built: list[nn.Module] = []

    def build(*arguments: Any) -> nn.Module:
        built.append(build_network(*arguments))
        return built[-1]

    monkeypatch.setattr(train_network, "build_network", build)
    return built


def check(task: Task, store: ArrayStore, networks: list[nn.Module]) -> tuple[Message, Plain]:
    """Trains both ways and compares losses, weights and predictions."""
    predicted, result, reported = run_whole(task, store)
    plain = train_twin(task)
    losses = [(epoch["train_loss"], epoch["validation_loss"]) for epoch in result["epochs"]]
    np.testing.assert_allclose(losses, plain.trained.epochs, rtol=1e-5, atol=1e-6)
    assert result["best_epoch"] == plain.trained.best_epoch
    assert result["zero_validation_loss"] == pytest.approx(plain.zero_loss, rel=1e-5)
    assert [update["epoch"] for update in reported] == list(range(1, len(losses) + 1))
    check_weights(networks[-1], plain.trained.weights)
    np.testing.assert_allclose(predicted, plain.predictions, atol=1e-7)
    assert np.abs(predicted).max() > 1e-4
    return result, plain


@pytest.mark.parametrize(
    "changes",
    sampled(CHANGES, CHANGES[0], CHANGES[-1]),
    ids=lambda changes: "-".join(str(value) for value in changes.values()),
)
@pytest.mark.parametrize("architecture", ALONE)
def test_training_equals_a_plain_script(
    architecture: str, changes: dict[str, Any], tmp_path: Path, store: ArrayStore, networks: list[nn.Module]
) -> None:
    result, _ = check(ticker_task(tmp_path, architecture, training=changes), store, networks)
    assert len(result["epochs"]) == 3


@pytest.mark.parametrize("epochs", [1, 20])
def test_training_for_one_or_many_epochs_equals_a_plain_script(
    epochs: int, tmp_path: Path, store: ArrayStore, networks: list[nn.Module]
) -> None:
    task = ticker_task(tmp_path, "mlp", training={"epochs": epochs, "patience": epochs})
    result, _ = check(task, store, networks)
    assert len(result["epochs"]) == epochs


@pytest.mark.parametrize("architecture", sampled(ALONE, "lstm"))
def test_training_under_dropout_equals_a_plain_script_with_the_same_masks(
    architecture: str, tmp_path: Path, store: ArrayStore, networks: list[nn.Module]
) -> None:
    check(ticker_task(tmp_path, architecture, spec={"dropout": 0.3}), store, networks)


@pytest.mark.parametrize("loss", LOSSES)
def test_training_with_every_loss_equals_a_plain_script(
    loss: str, tmp_path: Path, store: ArrayStore, networks: list[nn.Module]
) -> None:
    training = {"loss": loss, "learning_rate": 0.05}
    x, y = ticker_data(seed=7)  # Data for which the directional forecasts are useful.
    task = ticker_task(tmp_path, "mlp", x=x, labels=y[:FITTED], training=training)
    result, plain = check(task, store, networks)
    if loss == "directional":
        assert result["prediction_scale"] == pytest.approx(plain.prediction_scale, rel=1e-4)
        assert plain.prediction_scale > 0
        assert str(result["zero_validation_loss"]) == "0.0"
    else:
        assert "prediction_scale" not in result


@pytest.mark.parametrize(("architecture", "rate"), [("mlp", 0.02), ("lstm", 0.1)])
def test_the_best_epochs_weights_make_the_predictions(
    architecture: str, rate: float, tmp_path: Path, store: ArrayStore, networks: list[nn.Module]
) -> None:
    training = {"epochs": 40, "patience": 3, "learning_rate": rate, "batch_size": 60}
    x, y = ticker_data(seed=7)  # Data with something to learn.
    task = ticker_task(tmp_path, architecture, x=x, labels=y[:FITTED], training=training)
    result, _ = check(task, store, networks)
    assert 1 < result["best_epoch"] < len(result["epochs"]) < 40
    assert len(result["epochs"]) == result["best_epoch"] + 3


def outcome(task: Task, store: ArrayStore) -> tuple[str, list[Message]]:
    """Code and message of the task's error, or "", and the epochs before it."""
    epochs: list[Message] = []
    try:
        run_network_task(task, store, epochs.append)
    except TaskError as error:
        return f"{error.code}: {error.message}", epochs
    return "", epochs


@pytest.mark.parametrize("name", ["learning_rate", "weight_decay", "grad_clip"])
@pytest.mark.parametrize("optimizer", ["adam", "sgd", "rmsprop"])
def test_a_number_that_json_writes_without_a_fraction_is_the_same_number(
    optimizer: str, name: str, tmp_path: Path, store: ArrayStore
) -> None:
    def outcome_of(value: float) -> tuple[str, list[Message]]:
        return outcome(ticker_task(tmp_path, "mlp", training={"optimizer": optimizer, name: value}), store)

    assert outcome_of(10**20) == outcome_of(1e20)
