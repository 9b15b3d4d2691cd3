from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from regressors import NAMES, REGRESSORS, spec_of
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from task_files import Task, save, values_of

from mucast_engine.arrays import ArrayStore, Matrix, Message
from mucast_engine.failure import TaskError
from mucast_engine.fit_predict import PREDICTED_ROWS, Replacements, fit_predict

SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler, "robust": RobustScaler, "maxabs": MaxAbsScaler}

MakeTask = Callable[..., Task]


def run(task: Task, store: ArrayStore) -> tuple[Matrix, Message, list[Message]]:
    """Predictions, result and progress of a task."""
    reported: list[Message] = []
    result = fit_predict(task, store, reported.append)
    predictions = values_of(result["predictions"]).copy()
    Path(task["predictions"]["ref"]).unlink(missing_ok=True)
    return predictions, result, reported


def failure(task: Task, store: ArrayStore) -> TaskError:
    with pytest.raises(TaskError) as raised:
        run(task, store)
    return raised.value


def plain_loop(name: str, task: Task, x: Matrix, y: Matrix, block: int = PREDICTED_ROWS) -> Matrix:
    """A user's script: a new model for each fold."""
    _, regressor, params = REGRESSORS[NAMES.index(name)]
    parts = []
    for fit in task["fits"]:
        (a, b), (c, d) = fit["train"], fit["predict"]
        train, score = x[a:b], x[c:d]
        if task["scaler"] != "none":
            scaler = SCALERS[task["scaler"]]().fit(train)
            train, score = scaler.transform(train), scaler.transform(score)
        model = regressor(**params).fit(train, y[a:b])
        # The rounding of the last predictions depends on how many rows there are: a linear model gets whole blocks.
        filled = np.concatenate([score, np.repeat(score[-1:], -len(score) % block, axis=0)])
        parts.append(model.predict(filled if hasattr(model, "coef_") else score)[: d - c])
    return np.concatenate(parts).astype(np.float64)


@pytest.mark.parametrize("name", NAMES)
def test_every_regressor_gives_the_numbers_of_a_plain_loop(
    name: str, make_task: MakeTask, store: ArrayStore, x: Matrix, y: Matrix
) -> None:
    for scaler in ("none", "robust"):
        task = make_task(spec_of(name), scaler=scaler)
        predicted, result, reported = run(task, store)
        np.testing.assert_array_equal(predicted, plain_loop(name, task, x, y))
        np.testing.assert_allclose(predicted, plain_loop(name, task, x, y, block=1), rtol=1e-12, atol=1e-15)
        assert result["predictions"]["shape"] == [100]
        assert [update["fit"] for update in reported] == [0, 1, 2]
        assert len(result["seconds"]) == 3


@pytest.mark.parametrize("scaler", SCALERS)
def test_every_scaler_is_scikit_learns_fitted_on_the_training_rows(
    scaler: str, make_task: MakeTask, store: ArrayStore, x: Matrix, y: Matrix
) -> None:
    task = make_task(spec_of("Lasso"), scaler=scaler)
    np.testing.assert_array_equal(run(task, store)[0], plain_loop("Lasso", task, x, y))


@pytest.mark.parametrize("name", NAMES)
def test_a_prediction_depends_on_no_later_row_and_on_no_other_fit(
    name: str, make_task: MakeTask, store: ArrayStore, tmp_path: Path, x: Matrix, y: Matrix
) -> None:
    task = make_task(spec_of(name), scaler="standard")
    together, _, _ = run(task, store)
    alone = [run({**task, "fits": [fit]}, store)[0] for fit in reversed(task["fits"])]
    np.testing.assert_array_equal(np.concatenate(alone[::-1]), together)
    # Fits that predict fewer rows have the same predictions of them.
    fits = [{"train": [0, 200], "predict": [200, end]} for end in (201, 202, 203, 207)]
    for part in np.split(run({**task, "fits": fits}, store)[0], np.cumsum([1, 2, 3])):
        np.testing.assert_array_equal(part, together[: len(part)])
    corrupted_x, corrupted_y = x.copy(), y.copy()
    corrupted_x[240:] = 1e6
    corrupted_y[240:] = -1.0
    task |= {"x": save(tmp_path, "x.npy", corrupted_x), "y": save(tmp_path, "y.npy", corrupted_y)}
    np.testing.assert_array_equal(run(task, store)[0][:40], together[:40])


@pytest.mark.parametrize("name", ["RandomForestRegressor", "LGBMRegressor", "XGBRegressor", "CatBoostRegressor"])
def test_a_seed_of_none_draws_the_same_numbers_every_time(name: str, make_task: MakeTask, store: ArrayStore) -> None:
    seed = "random_seed" if name == "CatBoostRegressor" else "random_state"
    task = make_task(spec_of(name, **{seed: None}))
    first, _, _ = run(task, store)
    np.random.rand(7)
    np.testing.assert_array_equal(run(task, store)[0], first)


def test_labels_may_end_where_training_ends_and_a_fit_may_predict_no_rows(
    make_task: MakeTask, store: ArrayStore, tmp_path: Path, y: Matrix
) -> None:
    whole, _, _ = run(make_task(spec_of("Ridge")), store)
    short, _, _ = run(make_task(spec_of("Ridge"), y=save(tmp_path, "short.npy", y[:280])), store)
    np.testing.assert_array_equal(short, whole)
    fits = [{"train": [0, 50], "predict": [300, 300], "pool": [0, 200]}]
    permutation = {"groups": [[1]], "seed": []}
    task = make_task(spec_of("Ridge"), scaler="standard", fits=fits, permutation=permutation)
    assert run(task, store)[0].shape == (0,)


# Without any of these, a seed changes nothing.
RANDOM: dict[str, dict[str, Any]] = {
    "RandomForestRegressor": {},
    "XGBRegressor": {"subsample": 0.5},
    "LGBMRegressor": {"subsample": 0.5, "subsample_freq": 1, "min_child_samples": 5},
    "CatBoostRegressor": {},
}


@pytest.mark.parametrize("name", RANDOM)
def test_an_ensemble_is_the_mean_of_separate_fits(name: str, make_task: MakeTask, store: ArrayStore) -> None:
    seed = "random_seed" if name == "CatBoostRegressor" else "random_state"
    fits = [{"train": [0, 40], "predict": [40, 60], "diagnose": True}, {"train": [10, 50], "predict": [50, 60]}]

    def fitted(first: int, ensemble: int) -> tuple[Matrix, dict[int, float]]:
        spec = spec_of(name, **RANDOM[name], **{seed: first})
        predicted, result, _ = run(make_task({**spec, "ensemble": ensemble}, fits=fits), store)
        return predicted, dict(result["diagnoses"][0]["importances"])

    separate = [fitted(7 + k, 1) for k in range(3)]
    assert not np.array_equal(separate[0][0], separate[1][0])
    predicted, importances = fitted(7, 3)
    np.testing.assert_allclose(predicted, np.mean([own for own, _ in separate], axis=0), rtol=1e-12, atol=1e-15)
    for column, importance in importances.items():
        assert importance == pytest.approx(np.mean([own[column] for _, own in separate]))


@pytest.mark.parametrize("name", NAMES)
def test_fits_of_a_shared_matrix_change_no_bit_of_it_or_of_their_predictions(
    name: str, make_task: MakeTask, store: ArrayStore, x: Matrix
) -> None:
    copying = {"copy_X": False} if name in ("LinearRegression", "Ridge", "Lasso", "ElasticNet") else {}
    for scaler, params in [("none", {}), ("standard", {}), ("none", copying)]:
        task = make_task(spec_of(name, **params), scaler=scaler)
        copies, in_place = (run({**task, "views": views}, store) for views in (False, True))
        np.testing.assert_array_equal(in_place[0], copies[0])
        assert in_place[1]["diagnoses"] == copies[1]["diagnoses"]
        np.testing.assert_array_equal(np.load(task["x"]["ref"]), x)


@pytest.mark.parametrize("name", ["LinearRegression", "LGBMRegressor"])
def test_absent_values_are_the_mean_of_the_training_rows_that_have_the_column(
    name: str, make_task: MakeTask, store: ArrayStore, tmp_path: Path, x: Matrix
) -> None:
    x[::3, 1] = np.nan
    x[:220, 2] = np.nan  # The first fit has no row with it.
    task = make_task(spec_of(name), scaler="robust")
    expected = []
    for fit in task["fits"]:
        a, b = fit["train"]
        filled = x.copy()
        for column in range(x.shape[1]):
            known = [value for value in x[a:b, column] if not np.isnan(value)]
            filled[np.isnan(x[:, column]), column] = np.mean(known) if known else 0.0
        own = {**task, "fits": [fit], "x": save(tmp_path, "filled.npy", filled)}
        expected.append(run(own, store)[0])
    task |= {"x": save(tmp_path, "holes.npy", x), "views": True, "absent": True}
    np.testing.assert_array_equal(run(task, store)[0], np.concatenate(expected))
    np.testing.assert_array_equal(np.load(tmp_path / "holes.npy"), x)


@given(st.data())
def test_a_row_is_replaced_by_a_row_of_the_pool_with_its_stratum_and_none_is_used_twice(data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=30))
    a, c, d, b = sorted(data.draw(st.lists(st.integers(0, len(ids)), min_size=4, max_size=4)))
    seed = data.draw(st.lists(st.integers(0, 2**32), max_size=3))
    strata = np.array(ids, dtype=np.float64)
    rows = Replacements(strata, (a, b), (c, d)).draw(seed)
    assert len(rows) == len(set(rows)) == d - c
    assert all(a <= row < b for row in rows)
    np.testing.assert_array_equal(strata[rows], strata[c:d])
    np.testing.assert_array_equal(rows, Replacements(strata, (a, b), (c, d)).draw(seed))


def test_every_row_of_the_pool_is_drawn_equally_often() -> None:
    replacements = Replacements(None, (5, 15), (10, 15))
    counts = np.zeros(15)
    for seed in range(4_000):
        counts[replacements.draw([seed])] += 1
    # 2,000 each, with a standard deviation of 32.
    assert not counts[:5].any()
    assert np.abs(counts[5:] - 2_000).max() < 160


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_also_predicts_its_rows_with_shuffled_features(
    name: str, make_task: MakeTask, store: ArrayStore, tmp_path: Path, x: Matrix
) -> None:
    x[::3, 4] = np.nan
    task = make_task(spec_of(name), scaler="robust", x=save(tmp_path, "gaps.npy", x), absent=True, views=True)
    plain, _, _ = run(task, store)
    groups, pools, strata = [[0, 4], [2], []], [[0, 240], [240, 280]], np.arange(300.0) % 7
    permutation = {"groups": groups, "seed": [7], "strata": save(tmp_path, "strata.npy", strata)}
    fits = [{**fit, "pool": pool} for fit, pool in zip(task["fits"], pools, strict=False)]
    values, _, _ = run({**task, "fits": [*fits, task["fits"][2]], "permutation": permutation}, store)
    np.testing.assert_array_equal(values[:100], plain)
    parts = values[100:].reshape(2, 3, 40)
    for index, (first, last) in enumerate(pools):
        a, b = task["fits"][index]["predict"]
        for group, columns in enumerate(groups):
            # The same model, fitted on the same rows, predicts rows whose values were replaced before.
            changed = x.copy()
            source = Replacements(strata, (first, last), (a, b)).draw([7, a, group])
            changed[a:b, columns] = x[np.ix_(source, np.array(columns, dtype=int))]
            own = {**task, "x": save(tmp_path, "changed.npy", changed), "fits": [task["fits"][index]]}
            np.testing.assert_array_equal(parts[index, group], run(own, store)[0])


LATER = [{"train": [0, 200], "predict": [200, 300]}]


@pytest.mark.parametrize(
    ("name", "row", "value", "scaler", "words"),
    [
        ("Ridge", 250, np.nan, "none", r"^predicting 100 rows: Input X contains NaN"),
        ("Ridge", 250, np.nan, "standard", r"^predicting 100 rows: Input X contains NaN"),
        # Finite as a float64, but not its square, nor its value as a float32, by which trees split.
        ("Ridge", 7, 1e200, "standard", r"^training on 200 rows: .*(infinity|too large)"),
        ("RandomForestRegressor", 7, 1e200, "none", r"^training on 200 rows: .*(infinity|too large)"),
        ("RandomForestRegressor", 250, 1e200, "none", r"^predicting 100 rows: .*(infinity|too large)"),
        ("LinearRegression", 250, 1e308, "none", "1 of 100 predictions are not finite"),
    ],
)
def test_a_value_that_a_regressor_cannot_use_is_fit_failed_with_its_place(
    name: str, row: int, value: float, scaler: str, words: str, make_task: MakeTask, store: ArrayStore, tmp_path: Path,
    x: Matrix, y: Matrix,
) -> None:  # fmt: skip
    x[row] = value
    given_arrays = {"x": save(tmp_path, "wide.npy", x), "y": save(tmp_path, "labels.npy", 1e6 * y)}
    error = failure(make_task(spec_of(name), scaler=scaler, fits=LATER, **given_arrays), store)
    assert error.code == "fit_failed"
    assert error.data["train"] == [0, 200]
    with pytest.raises(TaskError, match=words):
        raise error
    if value == 1e200:
        assert error.data["too_large"] == {"row": row, "column": 0, "value": 1e200}


def test_predictions_of_another_shape_are_fit_failed(make_task: MakeTask, store: ArrayStore) -> None:
    params = {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.9]}
    error = failure(make_task(spec_of("XGBRegressor", **params)), store)
    assert (error.code, error.message) == ("fit_failed", "predictions have shape (40, 2), not (40,)")


def test_rows_outside_the_arrays_are_a_defect_of_the_caller(make_task: MakeTask, store: ArrayStore) -> None:
    task = make_task(spec_of("Ridge"), fits=[{"train": [0, 301], "predict": [0, 1]}])
    assert failure(task, store).code == "internal"


def test_fits_that_stop_before_they_converge_are_counted(make_task: MakeTask, store: ArrayStore) -> None:
    assert run(make_task(spec_of("Lasso", alpha=1e-9, max_iter=1)), store)[1]["unconverged_fits"] == 3


def test_equal_labels_are_the_forecast_of_catboost_too(make_task: MakeTask, store: ArrayStore, tmp_path: Path) -> None:
    task = make_task(spec_of("CatBoostRegressor"), y=save(tmp_path, "labels.npy", np.full(300, 0.25)))
    np.testing.assert_array_equal(run(task, store)[0], np.full(100, 0.25))
