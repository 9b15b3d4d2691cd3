import math
from collections.abc import Iterable
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from mucast_engine.networks.weights import FlatWeights
from network_tasks import ALONE, JOINT, PARTS, TRAINING, joint_data, make, run, sampled, seeded, ticker_data
from torch import Tensor

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.failure import TaskError
from mucast_engine.networks.tasks import resolve_device, run_network_task
from mucast_engine.networks.training import History, largest_loss, train

STEPS = 2  # Steps of an epoch, and the rounding of a few hundred steps in float32, as a share of the weight.
FLOAT32 = 1e-5  # What a few hundred steps in float32 may round, as a share of the weight.


class FakeObjective:
    """Not a network: one weight that counts steps, and given validation losses."""

    train_samples = STEPS * 4
    largest_loss = largest_loss(torch.tensor([0.5, -1.0, 0.0]))

    def __init__(
        self, losses: list[float], train_losses: Iterable[float] = repeat(1.0), ics: Iterable[float] | None = None
    ) -> None:
        self.module = torch.nn.Linear(1, 1, bias=False)
        self.weights = FlatWeights(self.module)
        self.weights.values.zero_()
        self._losses, self._train_losses = iter(losses), iter(train_losses)
        self._ics = None if ics is None else iter(ics)
        self.batches: list[list[int]] = []

    def gradient(self, batch: Tensor, step: int) -> Tensor:
        assert step == len(self.batches)
        self.batches.append(batch.tolist())
        self.weights.gradients.fill_(-1.0)
        return torch.tensor(next(self._train_losses))

    def validate(self) -> dict[str, float]:
        record = {"validation_loss": next(self._losses)}
        return record if self._ics is None else {**record, "validation_ic": next(self._ics)}

    def zero_validation_loss(self) -> float:
        return 1.0


def settings(**changes: Any) -> dict[str, Any]:
    return {**TRAINING, "optimizer": "sgd", "learning_rate": 1.0, "grad_clip": 0, "batch_size": 4, **changes}


def trained(objective: FakeObjective, **changes: Any) -> tuple[History, list[Message]]:
    reported: list[Message] = []
    return train(objective, settings(**changes), seeded(1), reported.append), reported


def stopping_twin(losses: list[float], patience: int) -> tuple[int, int]:
    """The number of epochs that ran and the best of them, both counted from 1."""
    for epoch in range(1, len(losses) + 1):
        best = min(range(epoch), key=lambda place: losses[place]) + 1
        if epoch - best >= patience:
            return epoch, best
    return len(losses), best


def averaged_weight(epoch: int) -> float:
    """The average after an epoch of a weight that grows by the learning rate with each step."""
    weight = average = 0.0
    for _ in range(STEPS * epoch):
        weight += 1
        average += (weight - average) / STEPS
    return average


@given(st.lists(st.sampled_from([0.5, 0.75, 1.0, 1.25, -0.5]), min_size=1, max_size=12), st.integers(1, 5))
def test_training_stops_after_patience_epochs_without_a_lower_loss_and_keeps_the_best(
    losses: list[float], patience: int
) -> None:
    objective = FakeObjective(losses)
    history, reported = trained(objective, epochs=len(losses), patience=patience)
    run_epochs, best = stopping_twin(losses, patience)
    assert (len(history.epochs), history.best_epoch) == (run_epochs, best)
    assert [epoch["validation_loss"] for epoch in history.epochs] == losses[:run_epochs]
    assert objective.module.weight.item() == pytest.approx(averaged_weight(best), rel=FLOAT32)
    assert [(update["epoch"], update["validation_loss"]) for update in reported] == list(
        enumerate(losses[:run_epochs], 1)
    )


@given(st.lists(st.sampled_from([-0.02, 0.0, 0.01, 0.03, 0.05]), min_size=1, max_size=12), st.integers(1, 5))
def test_with_monitor_ic_training_keeps_the_epoch_of_the_highest_ic_whatever_the_losses(
    ics: list[float], patience: int
) -> None:
    losses = [float(epoch) for epoch in range(1, len(ics) + 1)]
    objective = FakeObjective(losses, ics=ics)
    history, _ = trained(objective, epochs=len(ics), patience=patience, monitor="ic")
    run_epochs, best = stopping_twin([-ic for ic in ics], patience)
    assert (len(history.epochs), history.best_epoch) == (run_epochs, best)
    assert [epoch["validation_ic"] for epoch in history.epochs] == ics[:run_epochs]
    assert objective.module.weight.item() == pytest.approx(averaged_weight(best), rel=FLOAT32)


def test_an_equal_loss_is_not_an_improvement() -> None:
    history, _ = trained(FakeObjective([1.0, 1.0, 1.0, 1.0]), epochs=4, patience=2)
    assert (len(history.epochs), history.best_epoch) == (3, 1)


def test_every_epoch_visits_all_samples_in_its_own_order() -> None:
    objective = FakeObjective([3.0, 2.0, 1.0])
    trained(objective, epochs=3)
    epochs = [[*first, *second] for first, second in zip(objective.batches[::2], objective.batches[1::2], strict=True)]
    assert all(sorted(epoch) == list(range(objective.train_samples)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]


def test_the_training_loss_of_an_epoch_is_a_mean_over_samples_not_over_batches() -> None:
    history, _ = trained(FakeObjective([1.0], [1.0, 4.0]), epochs=1, batch_size=6)
    assert history.epochs[0]["train_loss"] == pytest.approx((6 * 1.0 + 2 * 4.0) / 8)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf, 1.1e6, -1.1e6])
@pytest.mark.parametrize("part", ["train", "validation"])
def test_a_loss_that_is_not_finite_or_beyond_a_million_ends_the_training(loss: float, part: str) -> None:
    losses, train_loss = ([1.0, loss], 1.0) if part == "validation" else ([1.0], loss)
    with pytest.raises(TaskError) as caught:
        trained(FakeObjective(losses, repeat(train_loss)), epochs=2)
    epoch = 2 if part == "validation" else 1
    assert (caught.value.code, caught.value.data) == ("diverged", {"epoch": epoch})
    assert f"the {part} loss of epoch {epoch} is" in caught.value.message
    assert "learning_rate" in caught.value.message


def test_a_loss_of_a_million_is_the_largest_that_is_accepted() -> None:
    assert trained(FakeObjective([1e6]), epochs=1)[0].best_epoch == 1


@pytest.mark.parametrize("architecture", [*ALONE, *JOINT])
def test_one_epoch_is_its_own_best(architecture: str, tmp_path: Path, store: ArrayStore) -> None:
    _, result, reported = run(make(tmp_path, architecture, training={"epochs": 1, "patience": 1}), store)
    assert (result["best_epoch"], len(result["epochs"]), len(reported)) == (1, 1, 1)


@pytest.mark.parametrize("architecture", [*ALONE, *JOINT])
@pytest.mark.parametrize("rate", sampled([1e8, 1e30], 1e30))
def test_a_network_that_explodes_has_diverged(
    architecture: str, rate: float, tmp_path: Path, store: ArrayStore
) -> None:
    training = {"learning_rate": rate, "optimizer": "sgd", "grad_clip": 0}
    with pytest.raises(TaskError, match="lower learning_rate") as caught:
        run(make(tmp_path, architecture, training=training), store)
    assert caught.value.code == "diverged"
    assert not (tmp_path / "predictions.npy").exists()


@pytest.mark.parametrize("loss", ["mse", "r2"])
def test_a_ticker_that_gains_steadily_is_learned_however_large_its_scaled_labels_are(
    loss: str, tmp_path: Path, store: ArrayStore
) -> None:
    labels = joint_data()[2]
    noise = np.random.default_rng(3).standard_normal(len(labels))
    labels[:, 2] = np.where(np.isnan(labels[:, 2]), np.nan, 2e-4 + 1e-8 * noise)
    _, result, _ = run(make(tmp_path, "portfolio_lstm", labels=labels, training={"loss": loss}), store)
    assert len(result["epochs"]) == 2
    assert max(epoch["train_loss"] for epoch in result["epochs"]) > (1e6 if loss == "mse" else 0)


@pytest.mark.parametrize("value", [0.0, 0.01, 0.1 + 0.2])
def test_labels_that_are_all_equal_leave_nothing_to_learn(value: float, tmp_path: Path, store: ArrayStore) -> None:
    labels = ticker_data()[1][: PARTS["train"] + PARTS["validate"]].copy()
    labels[: PARTS["train"]] = value
    labels[: PARTS["train"] : 2] += np.spacing(1.0)  # The rounding of a ratio of two prices.
    with pytest.raises(TaskError) as caught:
        run(make(tmp_path, "mlp", labels=labels), store)
    assert caught.value.code == "constant_target"


def test_a_joint_network_does_not_learn_from_a_ticker_of_equal_labels(tmp_path: Path, store: ArrayStore) -> None:
    labels = joint_data()[2]
    labels[:, 2] = np.where(np.isnan(labels[:, 2]), np.nan, 0.01)
    with pytest.raises(TaskError) as caught:
        run(make(tmp_path, "portfolio_lstm", labels=labels), store)
    assert caught.value.code == "constant_target"


def test_a_joint_network_without_a_validation_label_reports_that(tmp_path: Path, store: ArrayStore) -> None:
    labels = joint_data()[2]
    labels[PARTS["train"] :] = np.nan
    with pytest.raises(TaskError, match="validate") as caught:
        run(make(tmp_path, "portfolio_lstm", labels=labels), store)
    assert caught.value.code == "insufficient_history"


def test_labels_that_differ_in_one_row_can_be_learned(tmp_path: Path, store: ArrayStore) -> None:
    labels = np.full(PARTS["train"] + PARTS["validate"], 0.01)
    labels[3] = 0.02
    predicted, _, _ = run(make(tmp_path, "mlp", labels=labels), store)
    assert np.isfinite(predicted).all()


@pytest.mark.parametrize(
    ("asked", "devices", "found"),
    [
        ("auto", 0, "cpu"),
        ("auto", 2, "cuda:0"),
        ("cpu", 0, "cpu"),
        ("cpu", 2, "cpu"),
        ("cuda", 1, "cuda:0"),
        ("cuda:1", 2, "cuda:1"),
    ],
)
def test_a_job_gets_the_device_that_it_requests(
    asked: str, devices: int, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: devices)
    assert resolve_device(asked) == {"device": found}


@pytest.mark.parametrize(("asked", "devices"), [("cuda", 0), ("cuda:0", 0), ("cuda:1", 1), ("cuda:12", 2)])
def test_a_missing_device_is_an_error(asked: str, devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: devices)
    with pytest.raises(TaskError) as caught:
        resolve_device(asked)
    assert (caught.value.code, caught.value.data) == (
        "device_unavailable",
        {"device": asked, "cuda_devices": devices},
    )
    assert asked in caught.value.message


def test_auto_is_the_processor_if_there_is_no_gpu(store: ArrayStore) -> None:
    expected = "cuda:0" if torch.cuda.is_available() else "cpu"
    assert run_network_task({"task": "device", "device": "auto"}, store, print) == {"device": expected}
