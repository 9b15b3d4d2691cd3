from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mucast_engine.networks.seeds import derive_seed, generator_for
from network_tasks import (
    ALONE,
    FEATURES,
    JOINT,
    LOOKBACK,
    LOSSES,
    PARTS,
    TICKERS,
    joint_data,
    joint_task,
    make,
    run,
    sampled,
    ticker_data,
    ticker_task,
)

from mucast_engine.arrays import ArrayStore, Matrix, Message

TRAIN, FITTED = PARTS["train"], PARTS["train"] + PARTS["validate"]
WINDOWS = 200
# SHA-256 of "42", "AAA" and "weights" with zero bytes between them: its first 8 bytes, little-endian, halved.
DOCUMENTED_SEED = 6770337401143509827
# The same with a zero byte and "1" behind them.
DOCUMENTED_SEED_OF_MEMBER_1 = 6444686675080786907


def without_time(result: Message) -> Message:
    return {name: value for name, value in result.items() if name != "seconds"}


@pytest.mark.parametrize("architecture", [*ALONE, *JOINT])
def test_the_same_task_gives_the_same_bytes(architecture: str, tmp_path: Path, store: ArrayStore) -> None:
    def once() -> tuple[bytes, Message]:
        predicted, result, _ = run(make(tmp_path, architecture, spec={"dropout": 0.2}), store)
        return predicted.tobytes(), without_time(result)

    first = once()
    torch.manual_seed(5)
    torch.rand(3)
    assert once() == first


@pytest.mark.parametrize("changes", [{"seed": 43}, {"ticker": "BBB"}, {"member": 1}])
def test_another_seed_ticker_or_member_gives_another_network(
    changes: dict[str, Any], tmp_path: Path, store: ArrayStore
) -> None:
    one, _, _ = run(ticker_task(tmp_path, "mlp"), store)
    other, _, _ = run(ticker_task(tmp_path, "mlp", **changes), store)
    assert (one != other).all()


@pytest.mark.parametrize("architecture", sampled(JOINT, "portfolio_lstm"))
def test_another_member_is_another_joint_network(architecture: str, tmp_path: Path, store: ArrayStore) -> None:
    (one, _, _), (other, _, _) = (run(joint_task(tmp_path, architecture, member=member), store) for member in (0, 1))
    assert (np.isnan(one) | (one != other)).all()


def test_seeds_of_all_purposes_and_members_differ_and_never_change() -> None:
    names = [
        (seed, ticker, purpose, member)
        for seed in (1, 11)
        for ticker in ("A", "1A", "")
        for purpose in ("weights", "order")
        for member in (0, 1, 11)
    ]
    seeds = {derive_seed(*name) for name in names}
    assert len(seeds) == len(names)
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert derive_seed(42, "AAA", "weights") == DOCUMENTED_SEED
    assert derive_seed(42, "AAA", "weights", 1) == DOCUMENTED_SEED_OF_MEMBER_1
    assert torch.equal(
        torch.rand(3, generator=generator_for(1, "A", "order")), torch.rand(3, generator=generator_for(1, "A", "order"))
    )


@pytest.mark.parametrize("loss", sampled(["mse", "r2", "mahalanobis"], "r2"))
@pytest.mark.parametrize("architecture", JOINT)
def test_threads_change_no_byte_of_a_joint_network(
    architecture: str, loss: str, tmp_path: Path, store: ArrayStore
) -> None:
    found = []
    for threads in (1, 2, 4, 16):
        task = joint_task(
            tmp_path, architecture, threads=threads, training={"epochs": 1, "loss": loss}, spec={"dropout": 0.2}
        )
        predicted, result, _ = run(task, store)
        found.append((predicted.tobytes(), without_time(result)))
    assert found == [found[0]] * 4


def long_data() -> tuple[Matrix, Matrix]:
    """Rows and ends of `ticker_data`, and 200 more windows to predict."""
    x = np.concatenate([ticker_data()[0], np.random.default_rng(9).standard_normal((WINDOWS, FEATURES))])
    return x, np.arange(len(x) - LOOKBACK + 1, dtype=np.float64) + LOOKBACK - 1


@pytest.mark.parametrize("architecture", ALONE)
def test_forecasts_do_not_depend_on_later_ones(architecture: str, tmp_path: Path, store: ArrayStore) -> None:
    x, ends = long_data()
    whole, _, _ = run(
        ticker_task(tmp_path, architecture, x=x, ends=ends, parts={**PARTS, "predict": len(ends) - FITTED}), store
    )
    for kept in (0, 1, 63, 64, 65, 130):
        parts = {**PARTS, "predict": kept}
        last = ends[: FITTED + kept]
        task = ticker_task(tmp_path, architecture, x=x[: int(last[-1]) + 1], ends=last, parts=parts)
        np.testing.assert_array_equal(run(task, store)[0], whole[:kept])


@pytest.mark.parametrize("architecture", JOINT)
def test_joint_forecasts_do_not_depend_on_later_dates_or_rows(
    architecture: str, tmp_path: Path, store: ArrayStore
) -> None:
    rows, ends, _ = joint_data()
    training = {"epochs": 1}
    whole, _, _ = run(joint_task(tmp_path, architecture, training=training), store)
    for kept in (0, 1, 3, 4, 5, 18):
        parts = {**PARTS, "predict": kept}
        last = ends[: FITTED + kept]
        cut = [x[: int(last[:, place].max()) + 1] for place, x in enumerate(rows)]
        task = joint_task(tmp_path, architecture, rows=cut, ends=last, parts=parts, training=training)
        np.testing.assert_array_equal(run(task, store)[0], whole[: kept * TICKERS])


@pytest.mark.parametrize("architecture", JOINT)
def test_joint_forecasts_do_not_depend_on_the_tickers_of_other_dates(
    architecture: str, tmp_path: Path, store: ArrayStore
) -> None:
    _, ends, _ = joint_data()
    before, _, _ = run(joint_task(tmp_path, architecture), store)
    ends[FITTED + 1, 0] = ends[FITTED + 1].max()
    ends[FITTED + 1, 1:] = -1
    after, _, _ = run(joint_task(tmp_path, architecture, ends=ends), store)
    others = np.arange(PARTS["predict"]) != 1
    found = [predicted.reshape(-1, TICKERS)[others] for predicted in (after, before)]
    np.testing.assert_array_equal(*found)
    assert np.isnan(after).sum() != np.isnan(before).sum()


def again(ends: Matrix) -> Matrix:
    """The first training windows again, in place of those to predict."""
    return np.concatenate([ends[:FITTED], ends[: PARTS["predict"]]])


@pytest.mark.parametrize("scaler", ["standard", "minmax", "robust", "maxabs"])
def test_no_row_after_the_last_training_window_reaches_weights_or_scaler(
    scaler: str, tmp_path: Path, store: ArrayStore
) -> None:
    x, ends = ticker_data()[0], np.arange(sum(PARTS.values()), dtype=np.float64) + LOOKBACK - 1
    training = {"epochs": 1, "learning_rate": 0.01}
    changes = {"scaler": scaler, "training": training, "ends": again(ends)}

    def predicted(first_changed_row: int) -> Matrix:
        changed = x.copy()
        changed[first_changed_row:] = 50.0
        return run(ticker_task(tmp_path, "mlp", x=changed, **changes), store)[0]

    last_trained = int(ends[TRAIN - 1])
    untouched = predicted(len(x))
    np.testing.assert_array_equal(predicted(last_trained + 1), untouched)
    assert (predicted(last_trained) != untouched).all()


@pytest.mark.parametrize("architecture", JOINT)
def test_no_row_after_the_last_training_date_reaches_the_weights_or_scalers_of_a_joint_network(
    architecture: str, tmp_path: Path, store: ArrayStore
) -> None:
    rows, ends, _ = joint_data()

    def predicted(further: int) -> Matrix:
        changed = [x.copy() for x in rows]
        for place, x in enumerate(changed):
            x[int(ends[:TRAIN, place].max()) + further :] = 50.0
        return run(joint_task(tmp_path, architecture, rows=changed, ends=again(ends), training={"epochs": 1}), store)[0]

    untouched = predicted(10_000)
    np.testing.assert_array_equal(predicted(1), untouched)
    assert (predicted(0) != untouched).any()


@pytest.mark.parametrize("loss", sampled([loss for loss in LOSSES if loss != "directional"], "mse", "mahalanobis"))
@pytest.mark.parametrize("architecture", ["mlp", "portfolio_lstm"])
def test_validation_labels_reach_no_weight_of_a_single_epoch(
    architecture: str, loss: str, tmp_path: Path, store: ArrayStore
) -> None:
    labels = joint_data()[2] if architecture in JOINT else ticker_data()[1][:FITTED].copy()
    training = {"epochs": 1, "loss": loss}
    before, result, _ = run(make(tmp_path, architecture, labels=labels, training=training), store)
    labels[TRAIN:] = -3 * labels[TRAIN:]
    after, other, _ = run(make(tmp_path, architecture, labels=labels, training=training), store)
    np.testing.assert_array_equal(after, before)
    assert other["epochs"][0]["train_loss"] == result["epochs"][0]["train_loss"]
    assert other["epochs"][0]["validation_loss"] != result["epochs"][0]["validation_loss"]
