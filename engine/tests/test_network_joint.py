"""The network of all tickers, trained by the engine and by a plain script that reads it date by date."""

import copy
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import loss_twins
import numpy as np
import pytest
import torch
from dropout_twin import mask_twins
from hypothesis import given
from hypothesis import strategies as st
from network_tasks import (
    FEATURES,
    JOINT,
    LOOKBACK,
    LOSSES,
    PARTS,
    SPECS,
    TICKERS,
    joint_data,
    joint_task,
    run_whole,
    sampled,
    seeded,
    ticker_data,
)
from network_twins import twin_of
from task_files import Task, save
from torch import Tensor, nn
from training_twin import Trained, begin_quietly, check_weights, loss_of, seed_for, standardised, train_plainly, window

from mucast_engine.arrays import ArrayStore, Matrix
from mucast_engine.failure import TaskError
from mucast_engine.networks import joint
from mucast_engine.networks.architectures import build_joint_network
from mucast_engine.networks.joint import mean_ic
from mucast_engine.networks.losses import Labels

TRAIN, FITTED = PARTS["train"], PARTS["train"] + PARTS["validate"]
# A step's batch is divided into this many pieces, each with its own dropout masks.
PIECES = 4


class Market:
    """The data of a joint task, date by date."""

    def __init__(self, task: Task) -> None:
        self.task, self.spec = task, task["network"]
        self.ends, labels = (np.load(task[name]["ref"]) for name in ("ends", "labels"))
        self.deviations = np.nanstd(labels[:TRAIN], axis=0)
        self.labels = torch.from_numpy((labels / self.deviations).astype(np.float32))
        self.known = ~self.labels.isnan()
        self.means = np.nanmean(self.labels[:TRAIN].numpy(), axis=0)
        self.rows = [self.union(ticker) for ticker in task["tickers"]]
        self.correlation = loss_twins.correlation(self.labels[:TRAIN].double().numpy())

    def union(self, ticker: dict[str, Any]) -> Tensor:
        x = np.load(ticker["x"]["ref"])
        rows = torch.zeros(len(x), self.task["features"])
        rows[:, ticker["columns"]] = standardised(x, ticker["scale_rows"])
        return rows

    def present(self, date: int) -> list[int]:
        return [ticker for ticker, end in enumerate(self.ends[date]) if end >= 0]

    def windows(self, date: int) -> Tensor:
        return torch.stack([window(self.rows[i], self.ends[date, i], LOOKBACK) for i in self.present(date)])

    def loss(self, dates: list[int], predictions: list[Tensor]) -> Tensor:
        """Predictions of the present tickers of each date of a batch."""
        p = torch.full((len(dates), TICKERS), torch.nan)
        for place, date in enumerate(dates):
            p[place, self.present(date)] = predictions[place]
        known, y, name = self.known[dates], self.labels[dates], self.task["training"]["loss"]
        if name != "mahalanobis":
            mean = torch.from_numpy(self.means).expand(y.shape)[known]
            return loss_of(name, y[known], p[known], mean)
        terms = []
        for place in range(len(dates)):
            there = known[place].nonzero().flatten()
            if len(there):
                block = torch.from_numpy(self.correlation).float()[there][:, there]
                error = (p - y)[place, there]
                terms.append(error @ torch.linalg.solve(block, error) / len(there))
        return torch.stack(terms).mean()


def train_twin(market: Market) -> tuple[Trained, Matrix, float]:
    """The network by the plain script, predictions of the validation dates and of the rest, and their scale."""
    task, spec = market.task, market.spec
    first_weights = seeded(seed_for(task["seed"], "portfolio", "weights"))
    network = build_joint_network(spec, FEATURES, LOOKBACK, first_weights)
    twin, level = twin_of(network, spec, FEATURES, LOOKBACK), float(market.labels[:TRAIN].nanmean())
    if spec["architecture"] == "portfolio_lstm" and task["training"]["weight_decay"] == 0:
        first = copy.deepcopy(twin)

        def beside(date: int) -> Tensor:
            with torch.no_grad():
                return first(market.windows(date)) - level
    else:
        begin_quietly(twin, level)

        def beside(date: int) -> Tensor:
            return torch.zeros(len(market.present(date)))

    def forecast(date: int, *masks: Iterator[Tensor]) -> Tensor:
        return twin(market.windows(date), *masks) - beside(date)

    drop_seed = seed_for(task["seed"], "portfolio", "dropout")

    def under_dropout(dates: list[int], step: int, part: int) -> list[Tensor]:
        """One piece; its cells are masked in order, and its tickers date by date, absent or not."""
        present = [market.present(date) for date in dates]
        shapes = network.mask_shapes(sum(len(tickers) for tickers in present), len(dates), TICKERS)
        masks = mask_twins(spec["dropout"], drop_seed, step, shapes, part)
        of_encoder = len(network.encoder.mask_shapes(1))
        predictions, first = [], 0
        for place, (date, tickers) in enumerate(zip(dates, present, strict=True)):
            cells = range(first, first + len(tickers))
            own = [mask.index_select(1 if len(mask) == 1 else 0, torch.tensor(cells)) for mask in masks[:of_encoder]]
            met = [mask[place, tickers] for mask in masks[of_encoder:]]
            predictions.append(forecast(date, iter(own), iter(met)))
            first += len(tickers)
        return predictions

    def batch_loss(batch: Tensor, step: int) -> Tensor:
        dates = batch.tolist()
        if spec["dropout"] == 0:
            return market.loss(dates, [forecast(date) for date in dates])
        size = math.ceil(task["training"]["batch_size"] / PIECES)
        pieces = [dates[first : first + size] for first in range(0, len(dates), size)]
        return market.loss(dates, [p for i, piece in enumerate(pieces) for p in under_dropout(piece, step, i)])

    def validation_loss() -> Tensor:
        watched = list(range(TRAIN, FITTED))
        return market.loss(watched, [forecast(date) for date in watched])

    order = seed_for(task["seed"], "portfolio", "order")
    trained = train_plainly(twin, task["training"], TRAIN, order, batch_loss, validation_loss)
    predicted = np.full((PARTS["validate"] + PARTS["predict"], TICKERS), np.nan)
    with torch.no_grad():
        for place in range(len(predicted)):
            predicted[place, market.present(TRAIN + place)] = forecast(TRAIN + place).numpy()
    scale = 1.0
    if task["training"]["loss"] == "directional":
        scale = loss_twins.scale(predicted[: PARTS["validate"]], market.labels[TRAIN:].double().numpy())
    return trained, predicted * scale * market.deviations, scale


@pytest.fixture
def networks(monkeypatch: pytest.MonkeyPatch) -> list[nn.Module]:
    """The networks that tasks build from here on, in order."""
    built: list[nn.Module] = []

    def build(*arguments: Any) -> nn.Module:
        built.append(build_joint_network(*arguments))
        return built[-1]

    monkeypatch.setattr(joint, "build_joint_network", build)
    return built


def check(task: Task, store: ArrayStore, networks: list[nn.Module]) -> None:
    """Trains both ways and compares losses, weights and predictions."""
    predicted, result, _ = run_whole(task, store)
    market = Market(task)
    trained, expected, scale = train_twin(market)
    watched = list(range(TRAIN, FITTED))
    zero = market.loss(watched, [torch.zeros(len(market.present(date))) for date in watched]).item()
    assert result["zero_validation_loss"] == pytest.approx(zero, rel=1e-5)
    losses = [(epoch["train_loss"], epoch["validation_loss"]) for epoch in result["epochs"]]
    np.testing.assert_allclose(losses, trained.epochs, rtol=1e-5, atol=1e-6)
    assert result["best_epoch"] == trained.best_epoch
    check_weights(networks[-1], trained.weights)
    assert result.get("prediction_scale", 1.0) == pytest.approx(scale, rel=1e-4)
    # NaN where a ticker has no window, and only there.
    np.testing.assert_allclose(predicted.reshape(expected.shape), expected, atol=1e-7)


@pytest.mark.parametrize(
    ("architecture", "optimizer"),
    [
        *[(name, "adam") for name in JOINT],
        *[pytest.param(JOINT[0], name, marks=pytest.mark.release) for name in ("sgd", "rmsprop")],
    ],
)
@pytest.mark.parametrize("weight_decay", [pytest.param(0, marks=pytest.mark.release), 0.05])
def test_training_equals_a_plain_script_date_by_date(
    architecture: str,
    optimizer: str,
    weight_decay: float,
    tmp_path: Path,
    store: ArrayStore,
    networks: list[nn.Module],
) -> None:
    training = {"optimizer": optimizer, "weight_decay": weight_decay}
    check(joint_task(tmp_path, architecture, training=training), store, networks)


# A batch of 28 dates is divided into pieces of 7, which divide no part.
@pytest.mark.parametrize("batch_size", [16, 28])
@pytest.mark.parametrize("weight_decay", [0, 0.05])
def test_an_untrained_joint_lstm_forecasts_its_level_to_the_bit_unless_weights_decay(
    weight_decay: float, batch_size: int, tmp_path: Path, store: ArrayStore
) -> None:
    frozen = {"optimizer": "sgd", "learning_rate": 1e-30, "grad_clip": 0, "epochs": 1}
    training = {**frozen, "weight_decay": weight_decay, "batch_size": batch_size}
    task = joint_task(tmp_path, "portfolio_lstm", training=training)
    predicted, _, _ = run_whole(task, store)
    market = Market(task)
    level = np.float32(market.labels[:TRAIN].nanmean())
    scaled = (predicted.reshape(-1, TICKERS) / market.deviations)[market.ends[TRAIN:] >= 0]
    np.testing.assert_allclose(scaled, level, atol=0.05)
    assert len(np.unique(scaled.astype(np.float32))) == 1 if weight_decay == 0 else len(np.unique(scaled)) > 100


@pytest.mark.parametrize("architecture", sampled(JOINT, "portfolio_lstm"))
def test_training_under_dropout_equals_a_plain_script_with_the_same_masks(
    architecture: str, tmp_path: Path, store: ArrayStore, networks: list[nn.Module]
) -> None:
    check(joint_task(tmp_path, architecture, spec={"dropout": 0.3}), store, networks)


@pytest.mark.parametrize("loss", sampled(LOSSES, "r2", "mahalanobis", "directional"))
def test_training_with_every_loss_equals_a_plain_script(
    loss: str, tmp_path: Path, store: ArrayStore, networks: list[nn.Module]
) -> None:
    check(joint_task(tmp_path, "portfolio_lstm", training={"loss": loss, "grad_clip": 0}), store, networks)


def test_columns_are_at_their_position_in_the_union_and_others_are_zero(
    tmp_path: Path, store: ArrayStore, networks: list[nn.Module]
) -> None:
    task = joint_task(tmp_path, "portfolio_lstm")
    x = np.ascontiguousarray(joint_data()[0][0][:, [1, 0]])
    task["tickers"][0] |= {"x": save(tmp_path, "x0.npy", x), "columns": [2, 0]}
    check(task, store, networks)


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("architecture", JOINT)
def test_a_date_depends_on_its_present_tickers_alone_whatever_their_order(architecture: str, is_packed: bool) -> None:
    network = build_joint_network(SPECS[architecture], FEATURES, LOOKBACK, seeded(1))
    windows = torch.randn(6, 5, LOOKBACK, FEATURES, generator=seeded(2))
    present = torch.ones(6, 5, dtype=torch.bool)
    present[1::2, 2] = False
    present[3, :4] = False

    def compute(windows: Tensor, present: Tensor) -> Tensor:
        cells = torch.nonzero(present.flatten()).flatten() if is_packed else None
        flat = windows.flatten(0, 1)
        with torch.no_grad():
            return network(flat if cells is None else flat[cells], present, cells, None)

    before = compute(windows, present)
    twin = twin_of(network, SPECS[architecture], FEATURES, LOOKBACK)
    for date in range(6):
        expected = twin(windows[date, present[date]])
        torch.testing.assert_close(before[date, present[date]], expected, atol=1e-6, rtol=1e-5)
    order = torch.from_numpy(np.random.default_rng(4).permutation(5))
    turned = compute(windows[:, order], present[:, order])
    torch.testing.assert_close(turned[present[:, order]], before[:, order][present[:, order]], atol=1e-6, rtol=1e-5)
    windows[~present] = 100.0
    torch.testing.assert_close(compute(windows, present)[present], before[present], rtol=0, atol=0)
    windows[2, 0] += 1.0
    moved = (compute(windows, present) - before).abs()
    assert (moved[2] > 1e-5).all()
    assert not moved[[0, 1, 3, 4, 5]][present[[0, 1, 3, 4, 5]]].any()


def ic_twin(forecasts: Matrix, labels: Matrix) -> float:
    """Over dates with five labels; a constant side counts as 0."""
    found = []
    for p, y in zip(forecasts, labels, strict=True):
        there = ~np.isnan(y)
        if there.sum() >= 5:
            constant = len(set(p[there])) == 1 or len(set(y[there])) == 1
            found.append(0.0 if constant else np.corrcoef(p[there], y[there])[0, 1])
    return float(np.mean(found))


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_ic_is_the_mean_correlation_of_dates_with_five_labels(seed: int, flat: bool) -> None:
    random = np.random.default_rng(seed)
    predictions, labels = random.standard_normal((2, 6, 7)).astype(np.float32)
    labels[random.random(labels.shape) < 0.3] = np.nan
    labels[0] = 1.5
    scales = random.uniform(0.5, 3.0, 7)
    if flat:
        predictions[1], scales[:] = predictions[1, 0], 2.0
    known = torch.from_numpy((~np.isnan(labels)).astype(np.float32))
    found = mean_ic(torch.from_numpy(predictions), Labels(torch.from_numpy(np.nan_to_num(labels)), known), scales)
    assert found == pytest.approx(ic_twin(predictions.astype(float) * scales, labels.astype(float) * scales), abs=1e-9)


def test_a_network_keeps_the_epoch_whose_forecasts_order_the_validation_dates_best(
    tmp_path: Path, store: ArrayStore
) -> None:
    data = [ticker_data(seed) for seed in range(7)]
    absent = np.random.default_rng(5).random((sum(PARTS.values()), 7)) < 0.1
    ends = np.where(absent, -1.0, np.arange(len(absent))[:, None] + LOOKBACK - 1)
    labels = np.where(absent, np.nan, np.stack([y for _, y in data], axis=1) * np.geomspace(1, 9, 7))[:FITTED]
    by = {}
    for monitor in ("loss", "ic"):
        training = {"monitor": monitor, "epochs": 6, "patience": 6, "learning_rate": 3e-3}
        given_data = {"rows": [x for x, _ in data], "ends": ends, "labels": labels}
        task = joint_task(tmp_path, "portfolio_lstm", training=training, **given_data)
        predicted, result, _ = run_whole(task, store)
        by[monitor] = result["epochs"]
    ics = [epoch.pop("validation_ic") for epoch in by["ic"]]
    assert by["ic"] == by["loss"]
    assert result["best_epoch"] == int(np.argmax(ics)) + 1
    own = predicted.reshape(-1, 7)[: PARTS["validate"]]
    assert max(ics) == pytest.approx(ic_twin(np.nan_to_num(own), labels[TRAIN:]), abs=1e-5)


def test_validation_dates_with_too_few_tickers_cannot_be_monitored_by_ic(tmp_path: Path, store: ArrayStore) -> None:
    with pytest.raises(TaskError, match="5 tickers") as caught:
        run_whole(joint_task(tmp_path, "portfolio_lstm", training={"monitor": "ic"}), store)  # Four tickers.
    assert caught.value.code == "insufficient_history"
