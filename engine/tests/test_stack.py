"""A stack of networks learns what each of them learns alone."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from network_tasks import ALONE, LOSSES, sampled
from stack_tasks import alone, assert_alike, assert_as_alone, make_objective, own_task, own_tasks, stacked

from mucast_engine.arrays import ArrayStore
from mucast_engine.failure import TaskError
from mucast_engine.networks.stack import memory


@pytest.mark.parametrize("optimizer", sampled(["adam", "sgd", "rmsprop"], "adam"))
@pytest.mark.parametrize("architecture", ALONE)
def test_networks_of_different_lengths_learn_as_alone(
    architecture: str, optimizer: str, tmp_path: Path, store: ArrayStore
) -> None:
    training = {"optimizer": optimizer, "learning_rate": 1e-2 if optimizer == "sgd" else 1e-3}
    assert_as_alone(own_tasks(tmp_path, architecture, training=training, spec={"dropout": 0.3}), store)


@pytest.mark.parametrize("loss", sampled(LOSSES, "r2", "directional"))
def test_every_loss_equals_that_of_a_single_network(loss: str, tmp_path: Path, store: ArrayStore) -> None:
    assert_as_alone(own_tasks(tmp_path, "mlp", training={"loss": loss}), store)


def test_members_of_one_ticker_learn_and_report_as_alone(tmp_path: Path, store: ArrayStore) -> None:
    tasks = [own_task(tmp_path, "FEWER", "lstm", member=member, spec={"dropout": 0.3}) for member in (0, 1, 2)]
    results = assert_as_alone(tasks, store)
    predicted = [np.load(result["predictions"]["ref"]) for result in results]
    assert all((predicted[0] != other).all() for other in predicted[1:])
    _, reported = stacked(tasks, store)
    names = [(update["ticker"], update["member"], update["epoch"]) for update in reported]
    assert names == [("FEWER", member, epoch) for epoch in (1, 2, 3) for member in (0, 1, 2)]


def test_a_stack_of_one_is_that_network(tmp_path: Path, store: ArrayStore) -> None:
    assert_as_alone([own_task(tmp_path, "LONG", "transformer", spec={"dropout": 0.1})], store)


def test_each_network_stops_early_for_itself(tmp_path: Path, store: ArrayStore) -> None:
    training = {"epochs": 12, "patience": 1, "learning_rate": 0.03}
    results = assert_as_alone(own_tasks(tmp_path, "mlp", training=training), store)
    assert len({len(result["epochs"]) for result in results}) == len(results)


def test_tickers_with_other_features_are_in_separate_stacks(tmp_path: Path, store: ArrayStore) -> None:
    widths = [("LONG", 3), ("FEWER", 2), ("SHORT", 3)]
    assert_as_alone([own_task(tmp_path, ticker, "lstm", features=width) for ticker, width in widths], store)


def test_tickers_beyond_the_memory_are_in_a_separate_stack(
    tmp_path: Path, store: ArrayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "STACK_BYTES", 1)
    _, reported = stacked(own_tasks(tmp_path, "mlp"), store)
    assert [update["ticker"] for update in reported] == ["LONG"] * 3 + ["FEWER"] * 3 + ["SHORT"] * 3


def test_a_ticker_may_have_nothing_to_predict_but_what_validates(tmp_path: Path, store: ArrayStore) -> None:
    parts = {"train": 39, "validate": 10, "predict": 0}
    usual, without = own_task(tmp_path, "FEWER", "cnn"), own_task(tmp_path, "FEWER", "cnn", parts=parts)
    (expected, result), _ = stacked([usual, without], store)
    assert result["epochs"] == expected["epochs"]
    assert result["predictions"]["shape"] == [10]


def test_every_epoch_of_every_ticker_is_reported(tmp_path: Path, store: ArrayStore) -> None:
    tasks = own_tasks(tmp_path, "mlp")
    expected = {task["ticker"]: alone(task, store)[2] for task in tasks}
    _, reported = stacked(tasks, store)
    assert [(update["ticker"], update["epoch"]) for update in reported] == [
        (task["ticker"], epoch) for epoch in (1, 2, 3) for task in tasks
    ]
    for update in reported:
        own = expected[update["ticker"]][update["epoch"] - 1]
        for loss in ("train_loss", "validation_loss"):
            assert update[loss] == pytest.approx(own[loss], rel=1e-4)


def test_a_ticker_that_diverges_changes_no_other(tmp_path: Path, store: ArrayStore) -> None:
    changes = {"spec": {"dropout": 0.2}, "scaler": "robust"}
    tasks = own_tasks(tmp_path, "mlp", **changes)
    before, _ = stacked(tasks, store)
    predicted = [np.load(result["predictions"]["ref"]) for result in before]
    outlier = np.random.default_rng(1).standard_normal((61, 3))
    outlier[20] = 1e30
    results, reported = stacked([tasks[0], own_task(tmp_path, "FEWER", "mlp", x=outlier, **changes), tasks[2]], store)
    assert (results[1]["code"], results[1]["data"]) == ("diverged", {"epoch": 1})
    assert "FEWER" not in {update["ticker"] for update in reported}
    for number in (0, 2):
        assert results[number]["epochs"] == before[number]["epochs"]
        np.testing.assert_array_equal(np.load(results[number]["predictions"]["ref"]), predicted[number])


@pytest.mark.parametrize("architecture", sampled(ALONE, "lstm"))
def test_weights_that_are_nan_stay_in_their_network(architecture: str, tmp_path: Path, store: ArrayStore) -> None:
    tasks = own_tasks(tmp_path, architecture, spec={"dropout": 0.2})
    sound, broken = make_objective(tasks, store), make_objective(tasks, store)
    with torch.no_grad():
        broken._network.values[1] = torch.nan
    for _ in range(2):
        for expected, losses in zip(sound.epoch([True] * 3), broken.epoch([True] * 3), strict=True):
            assert math.isnan(losses[1])
            assert losses[::2] == expected[::2]


def test_a_stack_fails_as_its_networks_do(tmp_path: Path, store: ArrayStore) -> None:
    tasks = own_tasks(tmp_path, "mlp", training={"optimizer": "sgd", "learning_rate": 1e30, "grad_clip": 0.0})
    results, reported = stacked(tasks, store)
    for result, task in zip(results, tasks, strict=True):
        with pytest.raises(TaskError) as failure:
            alone(task, store)
        assert result == {"code": "diverged", "message": failure.value.message, "data": failure.value.data}
    assert reported == []


def test_a_ticker_with_a_constant_target_affects_no_other(tmp_path: Path, store: ArrayStore) -> None:
    constant = own_task(tmp_path, "FEWER", "mlp", labels=np.full(49, 0.5))
    with pytest.raises(TaskError) as failure:
        alone(constant, store)
    good = own_task(tmp_path, "LONG", "mlp")
    expected, predictions, _ = alone(good, store)
    results, _ = stacked([constant, good], store)
    assert results[0] == {"code": "constant_target", "message": failure.value.message, "data": {}}
    assert_alike(results[1], expected, predictions)


def test_predictions_that_cannot_be_written_end_the_task(tmp_path: Path, store: ArrayStore) -> None:
    nowhere = {"ref": str(tmp_path / "missing" / "predictions.npy")}
    task = own_task(tmp_path, "SHORT", "mlp") | {"predictions": nowhere}
    with pytest.raises(TaskError) as failure:
        stacked([task], store)
    assert failure.value.code == "output_failed"


def test_z_scores_are_as_in_a_network_alone(tmp_path: Path, store: ArrayStore) -> None:
    (plain, *_), _ = stacked(own_tasks(tmp_path, "mlp"), store)
    (result, *_) = assert_as_alone([{**task, "z_scores": 1} for task in own_tasks(tmp_path, "mlp")], store)
    assert result["epochs"] != plain["epochs"]
