"""What the network of a later block needs: a scaler that sees a window of rows, and initial weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from network_tasks import ALONE, JOINT, LOOKBACK, PARTS, joint_data, make, run_whole, sampled, ticker_data
from stack_tasks import alone, stacked
from task_files import Task

from mucast_engine.arrays import ArrayStore, Message

# Too slow to change a float32, so that a network forecasts with its initial weights.
FROZEN = {"optimizer": "sgd", "learning_rate": 1e-30, "grad_clip": 0.0, "epochs": 1}


def new_folder(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    return folder


def keeping(task: Task, folder: Path) -> Task:
    return {**task, "weights": {"ref": str(folder / "weights.npy")}}


def going_on(task: Task, result: Message) -> Task:
    return {**task, "first_weights": result["weights"]}


@pytest.mark.parametrize("architecture", sampled([*ALONE, *JOINT], "lstm", "portfolio_transformer"))
def test_kept_weights_give_the_forecasts_of_their_network(architecture: str, tmp_path: Path, store: ArrayStore) -> None:
    first, second = new_folder(tmp_path, "first"), new_folder(tmp_path, "second")
    spec: dict[str, Any] = {"dropout": 0.2}
    predicted, result, _ = run_whole(keeping(make(first, architecture, spec=spec), first), store)
    assert result["weights"]["shape"] == [result["parameters"]]
    again = going_on(make(second, architecture, spec=spec, training=FROZEN), result)
    repeated, other, _ = run_whole(again, store)
    np.testing.assert_array_equal(repeated, predicted)
    assert "weights" not in other
    drawn, _, _ = run_whole(make(new_folder(tmp_path, "drawn"), architecture, spec=spec, training=FROZEN), store)
    assert not np.allclose(drawn, predicted, atol=1e-6, rtol=0, equal_nan=True)


@pytest.mark.parametrize("architecture", sampled([*ALONE, *JOINT], "mlp", "portfolio_lstm"))
def test_requesting_weights_changes_no_forecast(architecture: str, tmp_path: Path, store: ArrayStore) -> None:
    one, other = new_folder(tmp_path, "one"), new_folder(tmp_path, "other")
    without, _, _ = run_whole(make(one, architecture), store)
    asked, _, _ = run_whole(keeping(make(other, architecture), other), store)
    np.testing.assert_array_equal(asked, without)


@pytest.mark.parametrize("architecture", sampled(ALONE, "lstm"))
def test_a_stack_continues_like_its_networks_alone(architecture: str, tmp_path: Path, store: ArrayStore) -> None:
    first = new_folder(tmp_path, "first")
    _, result, _ = run_whole(keeping(make(first, architecture), first), store)
    tasks = []
    for block in range(2):
        folder = new_folder(tmp_path, f"block{block}")
        task = keeping(going_on(make(folder, architecture), result), folder)
        tasks.append({**task, "scale_from": 5, **({"block": block} if block > 0 else {})})
    results, reported = stacked(tasks, store)
    own, predicted, _ = alone({**tasks[0], "predictions": {"ref": str(tmp_path / "alone.npy")}}, store)
    weights = np.load(own["weights"]["ref"])
    for stack_result in results:
        np.testing.assert_allclose(np.load(stack_result["predictions"]["ref"]), predicted, atol=1e-5, rtol=0)
        np.testing.assert_allclose(np.load(stack_result["weights"]["ref"]), weights, atol=1e-4, rtol=0)
    epochs = len(results[0]["epochs"])
    assert [progress.get("block", 0) for progress in reported] == [0, 1] * epochs


@pytest.mark.parametrize("architecture", ["mlp", *JOINT])
def test_a_scaler_sees_no_row_before_its_window(architecture: str, tmp_path: Path, store: ArrayStore) -> None:
    """Samples start ten rows later than the data, and so does the scaler."""
    begin = 10

    def task_on(name: str, sizes: float, *, windowed: bool) -> Task:
        folder = new_folder(tmp_path, name)
        scale: dict[str, Any] = {"scale_from": begin} if windowed else {}
        parts = {**PARTS, "train": PARTS["train"] - begin}
        if architecture in JOINT:
            rows, ends, labels = joint_data()
            for x in rows:
                x[:begin] *= sizes
            task = make(folder, architecture, rows=rows, ends=ends[begin:], labels=labels[begin:], parts=parts)
            return {**task, "tickers": [{**ticker, **scale} for ticker in task["tickers"]]}
        x, labels = ticker_data()
        x[:begin] *= sizes
        ends = np.arange(sum(parts.values()), dtype=np.float64) + begin + LOOKBACK - 1
        watched = labels[begin : begin + parts["train"] + parts["validate"]]
        return {**make(folder, architecture, x=x, labels=watched, ends=ends, parts=parts), **scale}

    windowed = [run_whole(task_on(f"windowed {sizes}", sizes, windowed=True), store)[0] for sizes in (1.0, 50.0)]
    np.testing.assert_array_equal(windowed[0], windowed[1])
    whole = [run_whole(task_on(f"whole {sizes}", sizes, windowed=False), store)[0] for sizes in (1.0, 50.0)]
    assert not np.array_equal(whole[0], whole[1], equal_nan=True)
