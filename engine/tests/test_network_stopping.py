"""When training ends: early, diverged, without anything to learn from, on a device or memory that is not there."""

import math
from collections.abc import Callable, Iterable
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from network_tasks import ALONE, JOINT, PARTS, TRAINING, joint_data, make, run, seeded, ticker_data
from torch import Tensor

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.failure import TaskError
from mucast_engine.networks import tasks
from mucast_engine.networks.losses import Labels, make_loss
from mucast_engine.networks.tasks import resolve_device, run_network_task
from mucast_engine.networks.training import History, Objective, train

STEPS = 2  # Of an epoch.
FLOAT32 = 1e-5  # What a few hundred steps in float32 may round, as a share of the weight.
FITTED = PARTS["train"] + PARTS["validate"]


class FakeObjective(Objective):
    """Not a network: one weight that counts steps, and given validation losses."""

    def __init__(
        self, losses: list[float], train_losses: Iterable[float] = repeat(1.0), ics: Iterable[float] | None = None
    ) -> None:
        self.module = torch.nn.Linear(1, 1, bias=False)
        labels = torch.tensor([0.5] * STEPS * 4 + [-1.0])
        super().__init__(
            self.module, STEPS * 4, Labels(labels, torch.ones_like(labels)), make_loss("mse", torch.tensor(0.0))
        )
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

    def predict(self, part: slice) -> Tensor:
        raise NotImplementedError


def trained(objective: FakeObjective, **changes: Any) -> tuple[History, list[Message]]:
    settings = {**TRAINING, "optimizer": "sgd", "learning_rate": 1.0, "grad_clip": 0, "batch_size": 4, **changes}
    reported: list[Message] = []
    return train(objective, settings, seeded(1), reported.append), reported


def stopping_twin(costs: list[float], patience: int) -> tuple[int, int]:
    """The number of epochs that ran and the best of them, both counted from 1."""
    for epoch in range(1, len(costs) + 1):
        best = min(range(epoch), key=lambda place: costs[place]) + 1
        if epoch - best >= patience:
            return epoch, best
    return len(costs), best


def averaged_weight(epoch: int) -> float:
    """The average after an epoch of a weight that grows by the learning rate with each step."""
    weight = average = 0.0
    for _ in range(STEPS * epoch):
        weight += 1
        average += (weight - average) / STEPS
    return average


@pytest.mark.parametrize("monitor", ["loss", "ic"])
@given(st.lists(st.sampled_from([0.5, 0.75, 1.0, 1.25, -0.5]), min_size=1, max_size=12), st.integers(1, 5))
def test_training_stops_after_patience_epochs_without_an_improvement_and_keeps_the_best(
    monitor: str, costs: list[float], patience: int
) -> None:
    losses = costs if monitor == "loss" else [float(epoch) for epoch in range(1, len(costs) + 1)]
    ics = [-cost for cost in costs] if monitor == "ic" else None
    objective = FakeObjective(losses, ics=ics)
    history, reported = trained(objective, epochs=len(costs), patience=patience, monitor=monitor)
    run_epochs, best = stopping_twin(costs, patience)
    assert (len(history.epochs), history.best_epoch) == (run_epochs, best)
    assert [epoch["validation_loss"] for epoch in history.epochs] == losses[:run_epochs]
    assert objective.module.weight.item() == pytest.approx(averaged_weight(best), rel=FLOAT32)
    assert [(told["epoch"], told["validation_loss"]) for told in reported] == list(enumerate(losses[:run_epochs], 1))


def test_every_epoch_visits_all_samples_in_its_own_order() -> None:
    objective = FakeObjective([3.0, 2.0, 1.0])
    trained(objective, epochs=3)
    epochs = [[*first, *second] for first, second in zip(objective.batches[::2], objective.batches[1::2], strict=True)]
    assert all(sorted(epoch) == list(range(objective.train_samples)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]


def test_the_training_loss_of_an_epoch_is_a_mean_over_samples_not_over_batches() -> None:
    history, _ = trained(FakeObjective([1.0], [1.0, 4.0]), epochs=1, batch_size=6)
    assert history.epochs[0]["train_loss"] == pytest.approx((6 * 1.0 + 2 * 4.0) / 8)


@pytest.mark.parametrize("loss", [math.nan, -math.inf, 1.1e6, -1.1e6])
@pytest.mark.parametrize("part", ["train", "validation"])
def test_a_loss_that_is_not_finite_or_beyond_a_million_ends_the_training(loss: float, part: str) -> None:
    losses, train_loss = ([1.0, loss], 1.0) if part == "validation" else ([1.0], loss)
    with pytest.raises(TaskError, match="lower learning_rate") as caught:
        trained(FakeObjective(losses, repeat(train_loss)), epochs=2)
    epoch = 2 if part == "validation" else 1
    assert (caught.value.code, caught.value.data) == ("diverged", {"epoch": epoch})
    assert f"the {part} loss of epoch {epoch} is" in caught.value.message
    assert trained(FakeObjective([1e6]), epochs=1)[0].best_epoch == 1


@pytest.mark.parametrize("architecture", [*ALONE, *JOINT])
def test_a_network_that_explodes_has_diverged(architecture: str, tmp_path: Path, store: ArrayStore) -> None:
    training = {"learning_rate": 1e30, "optimizer": "sgd", "grad_clip": 0}
    with pytest.raises(TaskError) as caught:
        run(make(tmp_path, architecture, training=training), store)
    assert caught.value.code == "diverged"
    assert not (tmp_path / "predictions.npy").exists()


def test_a_ticker_that_gains_steadily_is_learned_however_large_its_scaled_labels_are(
    tmp_path: Path, store: ArrayStore
) -> None:
    labels = joint_data()[2]
    noise = np.random.default_rng(3).standard_normal(len(labels))
    labels[:, 2] = np.where(np.isnan(labels[:, 2]), np.nan, 2e-4 + 1e-8 * noise)
    _, result, _ = run(make(tmp_path, "portfolio_lstm", labels=labels), store)
    assert max(epoch["train_loss"] for epoch in result["epochs"]) > 1e6


def equal(labels: np.ndarray) -> None:
    labels[: PARTS["train"]] = 0.3
    labels[: PARTS["train"] : 2] += np.spacing(1.0)  # The rounding of a ratio of two prices.


def equal_for_one(labels: np.ndarray) -> None:
    labels[:, 2] = np.where(np.isnan(labels[:, 2]), np.nan, 0.01)


def unknown_later(labels: np.ndarray) -> None:
    labels[PARTS["train"] :] = np.nan


@pytest.mark.parametrize(
    ("architecture", "change", "code"),
    [
        ("mlp", equal, "constant_target"),
        ("portfolio_lstm", equal_for_one, "constant_target"),
        ("portfolio_lstm", unknown_later, "insufficient_history"),
    ],
)
def test_labels_that_leave_nothing_to_learn_or_to_validate_are_refused(
    architecture: str, change: Callable[[np.ndarray], None], code: str, tmp_path: Path, store: ArrayStore
) -> None:
    labels = joint_data()[2] if architecture in JOINT else ticker_data()[1][:FITTED].copy()
    change(labels)
    with pytest.raises(TaskError) as caught:
        run(make(tmp_path, architecture, labels=labels), store)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("asked", "devices", "found"),
    [
        *[("auto", 0, "cpu"), ("auto", 2, "cuda:0"), ("cpu", 2, "cpu"), ("cuda", 1, "cuda:0"), ("cuda:1", 2, "cuda:1")],
        *[("cuda", 0, None), ("cuda:1", 1, None), ("cuda:12", 2, None)],
    ],
)
def test_a_job_gets_the_device_that_it_requests_or_an_error(
    asked: str, devices: int, found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: devices)
    if found is not None:
        assert resolve_device(asked) == {"device": found}
        return
    with pytest.raises(TaskError, match=asked) as caught:
        resolve_device(asked)
    assert (caught.value.code, caught.value.data) == (
        "device_unavailable",
        {"device": asked, "cuda_devices": devices},
    )


def on_gpu() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory.")


@pytest.mark.parametrize("allocate", [lambda: torch.empty(1 << 50), lambda: np.empty(1 << 50), on_gpu])
def test_a_network_that_lacks_memory_fails_with_a_clear_error(
    allocate: Callable[[], None], monkeypatch: pytest.MonkeyPatch, store: ArrayStore
) -> None:
    task = {"task": "train_network", "device": "cpu"}
    monkeypatch.setattr(tasks, "train_network", lambda *_: allocate())
    with pytest.raises(TaskError, match="memory of cpu does not suffice") as caught:
        run_network_task(task, store, lambda _: None)
    assert caught.value.code == "fit_failed"
    monkeypatch.setattr(tasks, "train_network", lambda *_: torch.zeros(2) @ torch.zeros(3))
    with pytest.raises(RuntimeError, match="size"):
        run_network_task(task, store, lambda _: None)
