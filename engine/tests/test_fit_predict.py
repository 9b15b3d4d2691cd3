from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from regressors import NAMES, REGRESSORS, spec_of
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from task_files import Task, save, values_of

from mucast_engine.arrays import ArrayStore, Matrix, Message
from mucast_engine.failure import TaskError
from mucast_engine.fit_predict import PREDICTED_ROWS, fit_predict

SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler, "robust": RobustScaler, "maxabs": MaxAbsScaler}


def run(task: Task, store: ArrayStore) -> tuple[Matrix, Message, list[Message]]:
    """Predictions, result and progress of a task."""
    reported: list[Message] = []
    result = fit_predict(task, store, reported.append)
    return values_of(result["predictions"]), result, reported


def plain_loop(regressor: type, params: dict[str, Any], task: Task, x: Matrix, y: Matrix) -> Matrix:
    """A user's script: a new model for each fold."""
    parts = []
    for fit in task["fits"]:
        (a, b), (c, d) = fit["train"], fit["predict"]
        train, score = x[a:b], x[c:d]
        if task["scaler"] != "none":
            scaler = SCALERS[task["scaler"]]().fit(train)
            train, score = scaler.transform(train), scaler.transform(score)
        model = regressor(**params).fit(train, y[a:b])
        # The rounding of the last predictions depends on how many rows there are: a linear model gets whole blocks.
        filled = np.concatenate([score, np.repeat(score[-1:], -len(score) % PREDICTED_ROWS, axis=0)])
        parts.append(model.predict(filled if hasattr(model, "coef_") else score)[: d - c])
    return np.concatenate(parts).astype(np.float64)


@pytest.mark.parametrize("name", NAMES)
def test_a_prediction_does_not_depend_on_later_rows(
    name: str, make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path
) -> None:
    library, regressor, params = REGRESSORS[NAMES.index(name)]
    spec = {"library": library, "class": regressor.__name__, "params": params}
    random = np.random.default_rng(3)
    wide, labels = random.normal(size=(180, 26)), random.normal(size=60)
    given = {"x": save(tmp_path, "wide.npy", wide), "y": save(tmp_path, "labels.npy", labels)}
    ends = (180, *range(61, 100))
    fits = [{"train": [0, 60], "predict": [60, end]} for end in ends]
    predicted = run(make_task(spec, fits=fits, **given), store)[0]
    whole, *parts = np.split(predicted, np.cumsum([end - 60 for end in ends])[:-1])
    for part in parts:
        np.testing.assert_array_equal(part, whole[: len(part)])


@pytest.mark.parametrize("scaler", ["none", "robust"])
@pytest.mark.parametrize(("library", "regressor", "params"), REGRESSORS, ids=NAMES)
def test_every_regressor_gives_the_numbers_of_a_plain_loop(
    library: str,
    regressor: type,
    params: dict[str, Any],
    scaler: str,
    make_task: Callable[..., Task],
    store: ArrayStore,
    x: Matrix,
    y: Matrix,
) -> None:
    task = make_task({"library": library, "class": regressor.__name__, "params": params}, scaler=scaler)
    predicted, result, reported = run(task, store)
    np.testing.assert_array_equal(predicted, plain_loop(regressor, params, task, x, y))
    assert result["predictions"]["shape"] == [100]
    assert [update["fit"] for update in reported] == [0, 1, 2]
    assert len(result["seconds"]) == 3
    assert all("constant" not in diagnosis for diagnosis in result["diagnoses"])


@pytest.mark.parametrize("name", NAMES)
def test_blocks_of_rows_change_a_prediction_only_by_rounding(
    name: str, make_task: Callable[..., Task], store: ArrayStore, x: Matrix, y: Matrix
) -> None:
    library, regressor, params = REGRESSORS[NAMES.index(name)]
    task = make_task({"library": library, "class": regressor.__name__, "params": params})
    plain = [
        regressor(**params).fit(x[slice(*fit["train"])], y[slice(*fit["train"])]).predict(x[slice(*fit["predict"])])
        for fit in task["fits"]
    ]
    np.testing.assert_allclose(run(task, store)[0], np.concatenate(plain), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("scaler", SCALERS)
def test_every_scaler_is_scikit_learns_fitted_on_the_training_rows(
    scaler: str, make_task: Callable[..., Task], store: ArrayStore, x: Matrix, y: Matrix
) -> None:
    library, regressor, params = REGRESSORS[NAMES.index("Lasso")]
    task = make_task({"library": library, "class": "Lasso", "params": params}, scaler=scaler)
    np.testing.assert_array_equal(run(task, store)[0], plain_loop(regressor, params, task, x, y))


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_are_not_trained_on_change_no_earlier_prediction(
    name: str, make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path, x: Matrix, y: Matrix
) -> None:
    task = make_task(spec_of(name), scaler="standard")
    before, _, _ = run(task, store)
    corrupted_x, corrupted_y = x.copy(), y.copy()
    corrupted_x[240:] = 1e6
    corrupted_y[240:] = -1.0
    task |= {"x": save(tmp_path, "x.npy", corrupted_x), "y": save(tmp_path, "y.npy", corrupted_y)}
    np.testing.assert_array_equal(run(task, store)[0][:40], before[:40])


@pytest.mark.parametrize("name", NAMES)
def test_fits_alone_or_in_another_order_give_the_same_predictions(
    name: str, make_task: Callable[..., Task], store: ArrayStore
) -> None:
    task = make_task(spec_of(name))
    together, _, _ = run(task, store)
    alone = [run({**task, "fits": [fit]}, store)[0] for fit in reversed(task["fits"])]
    np.testing.assert_array_equal(np.concatenate(alone[::-1]), together)


@pytest.mark.parametrize("name", ["RandomForestRegressor", "LGBMRegressor", "XGBRegressor", "CatBoostRegressor"])
def test_a_seed_of_none_draws_the_same_numbers_every_time(
    name: str, make_task: Callable[..., Task], store: ArrayStore
) -> None:
    seed = "random_seed" if name == "CatBoostRegressor" else "random_state"
    task = make_task(spec_of(name, **{seed: None}))
    first, _, _ = run(task, store)
    np.random.rand(7)
    np.testing.assert_array_equal(run(task, store)[0], first)


def test_an_estimator_that_works_in_place_does_not_reach_the_next_fit(
    make_task: Callable[..., Task], store: ArrayStore
) -> None:
    careful, _, _ = run(make_task(spec_of("Lasso", copy_X=True)), store)
    in_place, _, _ = run(make_task(spec_of("Lasso", copy_X=False)), store)
    np.testing.assert_array_equal(in_place, careful)


def test_labels_may_end_where_training_ends(
    make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path, y: Matrix
) -> None:
    whole, _, _ = run(make_task(spec_of("Ridge")), store)
    short, _, _ = run(make_task(spec_of("Ridge"), y=save(tmp_path, "short.npy", y[:280])), store)
    np.testing.assert_array_equal(short, whole)


def test_a_fit_that_predicts_no_rows_gives_no_predictions(make_task: Callable[..., Task], store: ArrayStore) -> None:
    task = make_task(spec_of("Ridge"), scaler="standard", fits=[{"train": [0, 50], "predict": [300, 300]}])
    assert run(task, store)[0].shape == (0,)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(cuts=st.lists(st.integers(31, 299), min_size=1, max_size=5, unique=True).map(sorted))
def test_predictions_are_in_the_order_of_the_fits(
    cuts: list[int], make_task: Callable[..., Task], store: ArrayStore, x: Matrix, y: Matrix
) -> None:
    ends = [*cuts[1:], 300]
    fits = [{"train": [0, cut], "predict": [cut, end]} for cut, end in zip(cuts, ends, strict=True)]
    task = make_task(spec_of("LinearRegression"), fits=fits)
    _, regressor, params = REGRESSORS[NAMES.index("LinearRegression")]
    np.testing.assert_array_equal(run(task, store)[0], plain_loop(regressor, params, task, x, y))


@pytest.mark.parametrize("scaler", ["none", "standard"])
def test_an_error_while_predicting_is_reported_as_one_of_predicting(
    make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path, x: Matrix, scaler: str
) -> None:
    x[250] = np.nan
    task = make_task(
        spec_of("Ridge"),
        x=save(tmp_path, "x.npy", x),
        scaler=scaler,
        fits=[{"train": [0, 200], "predict": [200, 300]}],
    )
    with pytest.raises(TaskError, match=r"^predicting 100 rows: Input X contains NaN") as raised:
        run(task, store)
    assert raised.value.code == "fit_failed"


def test_an_error_of_a_library_is_fit_failed_with_its_message_and_the_rows(
    make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path, y: Matrix
) -> None:
    y[7] = np.nan
    task = make_task(spec_of("Ridge"), y=save(tmp_path, "y.npy", y))
    with pytest.raises(TaskError, match=r"^training on 200 rows: Input y contains NaN") as raised:
        run(task, store)
    assert raised.value.code == "fit_failed"
    assert raised.value.data["train"] == [0, 200]


@pytest.mark.parametrize("name", ["Ridge", "RandomForestRegressor"])
@pytest.mark.parametrize(("row", "doing"), [(7, "training on 200 rows"), (250, "predicting 100 rows")])
def test_a_value_beyond_the_range_of_a_regressor_is_fit_failed(
    name: str, row: int, doing: str, make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path, x: Matrix
) -> None:
    # Finite as a float64, but not its square, nor its value as a float32, by which trees split.
    x[row, 0] = 1e200
    scaler = "standard" if name == "Ridge" else "none"
    task = make_task(
        spec_of(name), x=save(tmp_path, "x.npy", x), scaler=scaler, fits=[{"train": [0, 200], "predict": [200, 300]}]
    )
    if (name, row) == ("Ridge", 250):
        assert np.isfinite(run(task, store)[0]).all()
        return
    with pytest.raises(TaskError, match=rf"^{doing}: .*(infinity|too large)") as raised:
        run(task, store)
    assert raised.value.code == "fit_failed"


def test_predictions_that_are_not_finite_are_fit_failed(
    make_task: Callable[..., Task], store: ArrayStore, x: Matrix, y: Matrix
) -> None:
    x[250] = 1e308
    y *= 1e6
    task = make_task(spec_of("LinearRegression"), fits=[{"train": [0, 200], "predict": [200, 300]}])
    with pytest.raises(TaskError, match="1 of 100 predictions are not finite"):
        run(task, store)


def test_predictions_of_another_shape_are_fit_failed(make_task: Callable[..., Task], store: ArrayStore) -> None:
    params = {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.9]}
    with pytest.raises(TaskError, match=r"shape \(40, 2\), not \(40,\)") as raised:
        run(make_task(spec_of("XGBRegressor", **params)), store)
    assert raised.value.code == "fit_failed"


def test_rows_outside_the_arrays_are_a_defect_of_the_caller(make_task: Callable[..., Task], store: ArrayStore) -> None:
    with pytest.raises(TaskError) as raised:
        run(make_task(spec_of("Ridge"), fits=[{"train": [0, 301], "predict": [0, 1]}]), store)
    assert raised.value.code == "internal"


def test_fits_that_stop_before_they_converge_are_counted(make_task: Callable[..., Task], store: ArrayStore) -> None:
    _, result, _ = run(make_task(spec_of("Lasso", alpha=1e-9, max_iter=1)), store)
    assert result["unconverged_fits"] == 3


def test_a_final_fit_that_predicts_one_constant_is_described(make_task: Callable[..., Task], store: ArrayStore) -> None:
    predicted, result, _ = run(make_task(spec_of("LGBMRegressor", min_child_samples=500)), store)
    assert result["diagnoses"][0]["constant"] == {"value": predicted[-1], "train_rows": 280, "min_child_samples": 500}
