"""What a forecast of a network depends on. That it depends on nothing later is also tested in test/end-to-end."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from network_tasks import (
    ALONE,
    FEATURES,
    JOINT,
    LOOKBACK,
    PARTS,
    TICKERS,
    joint_data,
    joint_task,
    run,
    sampled,
    ticker_data,
    ticker_task,
)
from task_files import Task

from mucast_engine.arrays import ArrayStore, Matrix, Message
from mucast_engine.networks.samples import MAX_BATCH, PREDICTED_TOGETHER, Windows, derive_seed

TRAIN, FITTED = PARTS["train"], PARTS["train"] + PARTS["validate"]
ENDS = np.arange(sum(PARTS.values()), dtype=np.float64) + LOOKBACK - 1


def outcome(task: Task, store: ArrayStore) -> tuple[bytes, Message]:
    predicted, result, _ = run(task, store)
    return predicted.tobytes(), {name: value for name, value in result.items() if name != "seconds"}


@pytest.mark.parametrize("architecture", ALONE)
def test_the_same_task_gives_the_same_bytes_and_another_seed_ticker_or_member_others(
    architecture: str, tmp_path: Path, store: ArrayStore
) -> None:
    first = outcome(ticker_task(tmp_path, architecture, spec={"dropout": 0.2}), store)
    torch.manual_seed(5)
    torch.rand(3)
    assert outcome(ticker_task(tmp_path, architecture, spec={"dropout": 0.2}), store) == first
    one, *others = (
        run(ticker_task(tmp_path, architecture, **changes), store)[0]
        for changes in ({}, {"seed": 43}, {"ticker": "BBB"}, {"member": 1})
    )
    assert all((other != one).all() for other in others)


@pytest.mark.parametrize("loss", sampled(["mse", "r2", "mahalanobis"], "r2"))
@pytest.mark.parametrize("architecture", JOINT)
def test_neither_threads_nor_what_ran_before_change_a_byte_of_a_joint_network_and_another_member_does(
    architecture: str, loss: str, tmp_path: Path, store: ArrayStore
) -> None:
    def once(**changes: int) -> tuple[bytes, Message]:
        training = {"epochs": 1, "loss": loss}
        return outcome(joint_task(tmp_path, architecture, training=training, spec={"dropout": 0.2}, **changes), store)

    found = [once(threads=threads) for threads in (1, 2, 4, 16)]
    assert found == [found[0]] * 4
    assert once(member=1)[0] != found[0][0]


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
    # The first 8 bytes, little-endian, halved, of the SHA-256 of "42", "AAA" and "weights" with zero bytes between,
    # and of the same with a zero byte and "1" behind.
    assert derive_seed(42, "AAA", "weights") == 6770337401143509827
    assert derive_seed(42, "AAA", "weights", 1) == 6444686675080786907


@pytest.mark.parametrize("architecture", ALONE)
def test_forecasts_do_not_depend_on_later_ones(architecture: str, tmp_path: Path, store: ArrayStore) -> None:
    x = np.concatenate([ticker_data()[0], np.random.default_rng(9).standard_normal((200, FEATURES))])
    ends = np.arange(len(x) - LOOKBACK + 1, dtype=np.float64) + LOOKBACK - 1
    training = {"epochs": 1}

    def predicted(kept: int) -> Matrix:
        last = ends[: FITTED + kept]
        given = {"x": x[: int(last[-1]) + 1], "ends": last, "parts": {**PARTS, "predict": kept}}
        return run(ticker_task(tmp_path, architecture, training=training, **given), store)[0]

    whole = predicted(len(ends) - FITTED)
    for kept in (0, 1, 64, 130):
        np.testing.assert_array_equal(predicted(kept), whole[:kept])


@pytest.mark.parametrize("architecture", JOINT)
def test_joint_forecasts_do_not_depend_on_later_dates_or_rows_or_on_the_tickers_of_other_dates(
    architecture: str, tmp_path: Path, store: ArrayStore
) -> None:
    rows, ends, _ = joint_data()
    training = {"epochs": 1}
    whole, _, _ = run(joint_task(tmp_path, architecture, training=training), store)
    for kept in (0, 1, 4, 18):
        last = ends[: FITTED + kept]
        cut = [x[: int(last[:, place].max()) + 1] for place, x in enumerate(rows)]
        given = {"rows": cut, "ends": last, "parts": {**PARTS, "predict": kept}}
        predicted, _, _ = run(joint_task(tmp_path, architecture, training=training, **given), store)
        np.testing.assert_array_equal(predicted, whole[: kept * TICKERS])
    ends[FITTED + 1, 0] = ends[FITTED + 1].max()
    ends[FITTED + 1, 1:] = -1
    after, _, _ = run(joint_task(tmp_path, architecture, ends=ends, training=training), store)
    others = np.arange(PARTS["predict"]) != 1
    np.testing.assert_array_equal(*(predicted.reshape(-1, TICKERS)[others] for predicted in (after, whole)))
    assert np.isnan(after).sum() != np.isnan(whole).sum()


@pytest.mark.parametrize("architecture", ["mlp", "portfolio_lstm"])
def test_a_scaler_sees_no_row_before_its_window(architecture: str, tmp_path: Path, store: ArrayStore) -> None:
    """Samples start ten rows later than the data, and so does the scaler."""
    begin, parts = 10, {**PARTS, "train": PARTS["train"] - 10}

    def predicted(sizes: float, scale: dict[str, int]) -> Matrix:
        if architecture in JOINT:
            rows, ends, labels = joint_data()
            for x in rows:
                x[:begin] *= sizes
            task = joint_task(tmp_path, architecture, rows=rows, ends=ends[begin:], labels=labels[begin:], parts=parts)
            return run({**task, "tickers": [{**ticker, **scale} for ticker in task["tickers"]]}, store)[0]
        x, labels = ticker_data()
        x[:begin] *= sizes
        given = {"x": x, "labels": labels[begin:FITTED], "ends": ENDS[begin:], "parts": parts}
        return run({**ticker_task(tmp_path, architecture, **given), **scale}, store)[0]

    np.testing.assert_array_equal(predicted(1.0, {"scale_from": begin}), predicted(50.0, {"scale_from": begin}))
    assert not np.array_equal(predicted(1.0, {}), predicted(50.0, {}), equal_nan=True)


@given(st.integers(1, 12), st.integers(0, 12), st.integers(1, 4), st.data())
def test_a_window_is_the_last_rows_up_to_the_one_it_ends_on(
    lookback: int, more: int, features: int, data: st.DataObject
) -> None:
    count = lookback + more
    rows = np.arange(count * features, dtype=np.float32).reshape(count, features)
    ends = data.draw(st.lists(st.integers(lookback - 1, count - 1), max_size=8))
    found = Windows(torch.from_numpy(rows), lookback).gather(torch.tensor(ends, dtype=torch.int64))
    expected = [rows[end - lookback + 1 : end + 1] for end in ends]
    np.testing.assert_array_equal(found, np.array(expected).reshape(len(ends), lookback, features))


@pytest.mark.parametrize("count", [0, 1, PREDICTED_TOGETHER, 5 * PREDICTED_TOGETHER + 1])
@pytest.mark.parametrize(("lookback", "features"), [(1000, 5000), (1000, 500), (5, 2)])
def test_pieces_of_one_size_that_memory_allows_contain_every_end_once_and_then_repeat_the_last(
    lookback: int, features: int, count: int
) -> None:
    ends = torch.arange(count) + 2
    pieces = Windows(torch.zeros(lookback, features), lookback).batches(ends)
    together = [end for piece in pieces for end in piece.tolist()]
    assert together[:count] == ends.tolist()
    assert set(together[count:]) <= {count + 1}
    if count > 0:
        [size] = {len(piece) for piece in pieces}
        assert size == max(1, min(PREDICTED_TOGETHER, MAX_BATCH // (lookback * features)))
