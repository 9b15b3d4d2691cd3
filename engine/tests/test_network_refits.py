"""What the network of a later block needs: a scaler that sees a window of rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from network_tasks import JOINT, LOOKBACK, PARTS, joint_data, make, run_whole, ticker_data
from stack_tasks import stacked
from task_files import Task

from mucast_engine.arrays import ArrayStore


def new_folder(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    return folder


def test_a_stack_reports_the_block_of_each_network(tmp_path: Path, store: ArrayStore) -> None:
    first, later = (make(new_folder(tmp_path, name), "mlp") for name in ("first", "later"))
    results, reported = stacked([first, {**later, "block": 1}], store)
    assert [progress.get("block", 0) for progress in reported] == [0, 1] * len(results[0]["epochs"])


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
