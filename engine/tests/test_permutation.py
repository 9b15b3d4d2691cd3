from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from regressors import NAMES, REGRESSORS
from task_files import Task, save, values_of

from mucast_engine.arrays import ArrayStore, Matrix
from mucast_engine.fit_predict import fit_predict
from mucast_engine.permutation import permuted_rows


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.sets(st.integers(0, 3)), st.integers(0, 2**32))
def test_values_stay_in_their_stratum_and_columns_of_a_group_stay_together(
    strata: list[int], columns: set[int], seed: int
) -> None:
    x = np.arange(4.0 * sum(strata)).reshape(-1, 4)
    moved = sorted(columns)
    permuted = permuted_rows(x, moved, strata, [seed])
    np.testing.assert_array_equal(permuted, permuted_rows(x, moved, strata, [seed]))
    kept = [column for column in range(4) if column not in columns]
    np.testing.assert_array_equal(permuted[:, kept], x[:, kept])
    start = 0
    for size in strata:
        rows = slice(start, start + size)
        before = {tuple(row) for row in x[rows, moved].tolist()}
        assert {tuple(row) for row in permuted[rows, moved].tolist()} == before
        start += size


def test_orders_differ_between_seeds() -> None:
    x = np.arange(40.0).reshape(20, 2)
    orders = {tuple(permuted_rows(x, [0], [20], [seed, 0])[:, 0]) for seed in range(10)}
    assert len(orders) == 10


@pytest.mark.parametrize("scaler", ["none", "robust"])
@pytest.mark.parametrize(("library", "regressor", "params"), REGRESSORS, ids=NAMES)
def test_a_fit_also_predicts_its_shuffled_rows(
    library: str,
    regressor: type,
    params: dict[str, Any],
    scaler: str,
    make_task: Callable[..., Task],
    store: ArrayStore,
    tmp_path: Path,
    x: Matrix,
) -> None:
    spec = {"library": library, "class": regressor.__name__, "params": params}
    plain = values_of(fit_predict(make_task(spec, scaler=scaler), store, lambda _: None)["predictions"])
    task = make_task(spec, scaler=scaler)
    groups, sizes = [[0, 3], [2], []], [[10, 30], [1, 39]]
    task["permutation"] = {"groups": groups, "seed": [7]}
    for fit, strata in zip(task["fits"], sizes, strict=False):
        fit["strata"] = strata
    values = values_of(fit_predict(task, store, lambda _: None)["predictions"])
    np.testing.assert_array_equal(values[:100], plain)
    parts = values[100:].reshape(2, 3, 40)
    for index, strata in enumerate(sizes):
        a, b = task["fits"][index]["predict"]
        for group, columns in enumerate(groups):
            # The same model fitted on the same rows predicts rows that were shuffled before.
            shuffled = x.copy()
            shuffled[a:b] = permuted_rows(x[a:b], columns, strata, [7, a, group])
            changed = save(tmp_path, "shuffled.npy", shuffled)
            own = make_task(spec, scaler=scaler, x=changed, fits=[{**task["fits"][index]}])
            del own["fits"][0]["strata"]
            expected = values_of(fit_predict(own, store, lambda _: None)["predictions"])
            np.testing.assert_array_equal(parts[index, group], expected)
