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
from mucast_engine.permutation import Replacements


@given(st.data())
def test_a_row_is_replaced_by_a_row_of_the_pool_with_its_stratum_and_none_is_used_twice(data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=30))
    a, c, d, b = sorted(data.draw(st.lists(st.integers(0, len(ids)), min_size=4, max_size=4)))
    seed = data.draw(st.lists(st.integers(0, 2**32), max_size=3))
    strata = np.array(ids, dtype=np.float64)
    rows = Replacements(strata, (a, b), (c, d)).draw(seed)
    assert len(rows) == d - c
    assert len(set(rows)) == len(rows)
    assert all(a <= row < b for row in rows)
    np.testing.assert_array_equal(strata[rows], strata[c:d])
    np.testing.assert_array_equal(rows, Replacements(strata, (a, b), (c, d)).draw(seed))


def test_every_row_of_the_pool_is_drawn_equally_often() -> None:
    replacements = Replacements(None, (5, 15), (10, 15))
    counts = np.zeros(15)
    for seed in range(4_000):
        counts[replacements.draw([seed])] += 1
    assert not counts[:5].any()
    # 2,000 each, with a standard deviation of 32.
    assert np.abs(counts[5:] - 2_000).max() < 160


@pytest.mark.parametrize("rows", [(40, 40), (0, 0)])
def test_no_rows_to_predict_have_no_replacements(rows: tuple[int, int]) -> None:
    assert Replacements(np.zeros(60), (0, 60), rows).draw([1]).size == 0


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
    groups, pools = [[0, 3], [2], []], [[0, 240], [240, 280]]
    strata = np.arange(300.0) % 7
    task["permutation"] = {"groups": groups, "seed": [7], "strata": save(tmp_path, "strata.npy", strata)}
    for fit, pool in zip(task["fits"], pools, strict=False):
        fit["pool"] = pool
    values = values_of(fit_predict(task, store, lambda _: None)["predictions"])
    np.testing.assert_array_equal(values[:100], plain)
    parts = values[100:].reshape(2, 3, 40)
    for index, (first, last) in enumerate(pools):
        a, b = task["fits"][index]["predict"]
        for group, columns in enumerate(groups):
            # The same model, fitted on the same rows, predicts rows whose values were replaced before.
            changed = x.copy()
            source = Replacements(strata, (first, last), (a, b)).draw([7, a, group])
            changed[a:b, columns] = x[np.ix_(source, np.array(columns, dtype=int))]
            fits = [{name: rows for name, rows in task["fits"][index].items() if name != "pool"}]
            own = make_task(spec, scaler=scaler, x=save(tmp_path, "changed.npy", changed), fits=fits)
            expected = values_of(fit_predict(own, store, lambda _: None)["predictions"])
            np.testing.assert_array_equal(parts[index, group], expected)


def test_absent_values_of_replacements_are_filled_as_those_of_other_rows(
    make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path, x: Matrix
) -> None:
    gaps = x.copy()
    gaps[::3, 1] = np.nan
    spec = {"library": "sklearn", "class": "Ridge", "params": {}}
    fits = [{"train": [0, 200], "predict": [200, 240], "pool": [200, 240]}]
    given = {"x": save(tmp_path, "gaps.npy", gaps), "absent": True, "views": True, "scaler": "standard"}
    task = make_task(spec, fits=fits, permutation={"groups": [[1]], "seed": []}, **given)
    shuffled = values_of(fit_predict(task, store, lambda _: None)["predictions"])[40:]
    changed = gaps.copy()
    changed[200:240, 1] = gaps[Replacements(None, (200, 240), (200, 240)).draw([200, 0]), 1]
    own = make_task(spec, **{**given, "x": save(tmp_path, "changed.npy", changed)}, fits=[{**fits[0]}])
    del own["fits"][0]["pool"]
    np.testing.assert_array_equal(values_of(fit_predict(own, store, lambda _: None)["predictions"]), shuffled)


def test_a_fit_without_rows_to_predict_has_no_shuffled_predictions(
    make_task: Callable[..., Task], store: ArrayStore
) -> None:
    spec = {"library": "sklearn", "class": "Ridge", "params": {}}
    fits = [{"train": [0, 200], "predict": [200, 200], "pool": [0, 200]}]
    task = make_task(spec, fits=fits, permutation={"groups": [[1]], "seed": []})
    assert values_of(fit_predict(task, store, lambda _: None)["predictions"]).size == 0
