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
from mucast_engine.networks.seeds import generator_for
from network_tasks import (
    FEATURES,
    JOINT,
    LOOKBACK,
    LOSSES,
    PARTS,
    TICKERS,
    joint_data,
    joint_task,
    run,
    run_whole,
    sampled,
)
from network_twins import twin_of
from task_files import Task, save
from torch import Tensor, nn
from training_twin import Trained, begin_quietly, check_weights, loss_of, seed_for, standardised, train_plainly, window

from mucast_engine.arrays import ArrayStore, Matrix
from mucast_engine.networks.architectures import build_joint_network
from mucast_engine.networks.joint import task as joint_task_module

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
    network = build_joint_network(spec, FEATURES, LOOKBACK, generator_for(task["seed"], "portfolio", "weights"))
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

    monkeypatch.setattr(joint_task_module, "build_joint_network", build)
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


def test_a_ticker_without_a_window_has_no_forecast_and_all_others_have_one(tmp_path: Path, store: ArrayStore) -> None:
    predicted, _, _ = run(joint_task(tmp_path, "portfolio_lstm"), store)
    absent = joint_data()[1][FITTED:] < 0
    assert absent.any()
    np.testing.assert_array_equal(np.isnan(predicted), absent.ravel())


@pytest.mark.parametrize("architecture", JOINT)
def test_the_rows_of_one_ticker_move_the_forecast_of_another(
    architecture: str, tmp_path: Path, store: ArrayStore
) -> None:
    training = {"learning_rate": 0.01}
    before, _, _ = run(joint_task(tmp_path, architecture, training=training), store)
    rows, ends, _ = joint_data()
    date = next(date for date in range(FITTED, sum(PARTS.values())) if (ends[date] >= 0).all())
    rows[0][int(ends[date, 0])] += 2 * rows[0].std(axis=0)
    after, _, _ = run(joint_task(tmp_path, architecture, rows=rows, training=training), store)
    moved = np.abs(after - before).reshape(-1, TICKERS)
    assert (moved[date - FITTED] > 1e-8).all()
    assert not np.nan_to_num(moved[: date - FITTED]).any()
