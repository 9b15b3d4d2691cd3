"""Early stopping by the correlation across the tickers of a date."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from network_tasks import JOINT, LOOKBACK, PARTS, joint_task, run_whole, sampled, ticker_data

from mucast_engine.arrays import ArrayStore, Matrix
from mucast_engine.failure import TaskError
from mucast_engine.networks.joint.ic import mean_ic
from mucast_engine.networks.losses import Labels

TICKERS, MIN_PRESENT = 7, 5
NEAR = 1e-5  # Labels and predictions are float32.


def ic_twin(forecasts: Matrix, labels: Matrix) -> float:
    """NaN if there is none; a constant side counts as 0."""
    found = []
    for p, y in zip(forecasts, labels, strict=True):
        there = ~np.isnan(y)
        if there.sum() < MIN_PRESENT:
            continue
        constant = len(set(p[there])) == 1 or len(set(y[there])) == 1
        found.append(0.0 if constant else np.corrcoef(p[there], y[there])[0, 1])
    return float(np.mean(found))


def panel() -> tuple[list[Matrix], Matrix, Matrix]:
    """Like joint_data, with enough tickers; one in ten is absent, and one in five of the labels."""
    data = [ticker_data(seed) for seed in range(TICKERS)]
    dates, random = sum(PARTS.values()), np.random.default_rng(5)
    absent = random.random((dates, TICKERS)) < 0.1
    ends = np.where(absent, -1.0, np.arange(dates)[:, None] + LOOKBACK - 1)
    unknown = absent | (random.random((dates, TICKERS)) < 0.2)
    labels = np.where(unknown, np.nan, np.stack([y for _, y in data], axis=1) * np.geomspace(1, 9, TICKERS))
    return [x for x, _ in data], ends, labels[: PARTS["train"] + PARTS["validate"]]


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_ic_is_the_mean_correlation_of_dates_with_five_labels(seed: int, flat: bool) -> None:
    random = np.random.default_rng(seed)
    predictions, labels = random.standard_normal((2, 6, TICKERS)).astype(np.float32)
    labels[random.random(labels.shape) < 0.3] = np.nan
    labels[0] = 1.5
    if flat:
        predictions[1] = predictions[1, 0]
    scales = random.uniform(0.5, 3.0, TICKERS)
    scales[1] = scales[0]
    if flat:
        scales[:] = 2.0
    known = torch.from_numpy((~np.isnan(labels)).astype(np.float32))
    given_labels = Labels(torch.from_numpy(np.nan_to_num(labels)), known)
    found = mean_ic(torch.from_numpy(predictions), given_labels, scales)
    assert found == pytest.approx(ic_twin(predictions.astype(float) * scales, labels.astype(float) * scales), abs=1e-9)


@pytest.mark.parametrize("architecture", JOINT)
def test_a_network_keeps_the_epoch_whose_forecasts_order_the_validation_dates_best(
    architecture: str, tmp_path: Path, store: ArrayStore
) -> None:
    rows, ends, labels = panel()
    watched = labels[PARTS["train"] :]
    training = {"monitor": "ic", "epochs": 6, "patience": 6, "learning_rate": 3e-3}
    task = joint_task(tmp_path, architecture, rows=rows, ends=ends, labels=labels, training=training)
    predicted, result, _ = run_whole(task, store)
    ics = [epoch["validation_ic"] for epoch in result["epochs"]]
    assert result["best_epoch"] == int(np.argmax(ics)) + 1
    own = predicted.reshape(-1, TICKERS)[: PARTS["validate"]]
    assert max(ics) == pytest.approx(ic_twin(np.where(np.isnan(watched), 0.0, own), watched), abs=NEAR)


@pytest.mark.parametrize("architecture", sampled(JOINT, "portfolio_lstm"))
def test_the_monitored_figure_changes_neither_losses_nor_steps(
    architecture: str, tmp_path: Path, store: ArrayStore
) -> None:
    rows, ends, labels = panel()
    by = {}
    for monitor in ("loss", "ic"):
        training = {"monitor": monitor, "epochs": 4, "patience": 4}
        task = joint_task(tmp_path, architecture, rows=rows, ends=ends, labels=labels, training=training)
        by[monitor] = run_whole(task, store)[1]["epochs"]
    assert [("validation_ic" in epoch) for epoch in by["loss"]] == [False] * 4
    for of_loss, of_ic in zip(by["loss"], by["ic"], strict=True):
        assert {name: of_ic[name] for name in of_loss} == of_loss


def test_validation_dates_with_too_few_tickers_cannot_be_monitored_by_ic(tmp_path: Path, store: ArrayStore) -> None:
    task = joint_task(tmp_path, "portfolio_lstm", training={"monitor": "ic"})  # Four tickers.
    with pytest.raises(TaskError, match="5 tickers") as caught:
        run_whole(task, store)
    assert caught.value.code == "insufficient_history"
