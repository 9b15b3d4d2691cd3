from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from regressors import NAMES, REGRESSORS, spec_of
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from task_files import Task
from xgboost import XGBRegressor

from mucast_engine.arrays import ArrayStore, Matrix
from mucast_engine.fit_predict import fit_predict
from mucast_engine.importances import MAX_IMPORTANCES, ROUNDING, columns_of, largest_importances

FINAL = [{"train": [0, 200], "predict": [200, 240]}, {"train": [0, 280], "predict": [280, 300], "diagnose": True}]


def told(task: Task, store: ArrayStore) -> Any:
    [diagnosis] = fit_predict(task, store, lambda _: None)["diagnoses"]
    return diagnosis.get("importances")


@pytest.mark.parametrize(("library", "regressor", "params"), REGRESSORS, ids=NAMES)
def test_a_diagnosed_fit_reports_the_importances_of_its_library_on_scaled_features(
    library: str,
    regressor: type,
    params: dict[str, Any],
    make_task: Callable[..., Task],
    store: ArrayStore,
    x: Matrix,
    y: Matrix,
) -> None:
    spec = {"library": library, "class": regressor.__name__, "params": params}
    importances = told(make_task(spec, scaler="standard", fits=FINAL), store)
    model = regressor(**params).fit(StandardScaler().fit_transform(x[:280]), y[:280])
    expected = model.coef_ if regressor.__module__.startswith("sklearn.linear_model") else model.feature_importances_
    assert sorted(column for column, _ in importances) == list(range(x.shape[1]))
    for column, value in importances:
        assert value == float(expected[column])
    sizes = [abs(value) for _, value in importances]
    assert sizes == sorted(sizes, reverse=True)


def test_a_fit_that_is_not_diagnosed_reports_none(make_task: Callable[..., Task], store: ArrayStore) -> None:
    assert fit_predict(make_task(spec_of("Ridge"), fits=FINAL[:1]), store, lambda _: None)["diagnoses"] == []


def test_each_diagnosed_fit_reports_its_own(make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path) -> None:
    diagnosed = [{**fit, "diagnose": True} for fit in FINAL]
    together = fit_predict(make_task(spec_of("Ridge"), fits=diagnosed), store, lambda _: None)["diagnoses"]
    for fit, diagnosis in zip(diagnosed, together, strict=True):
        (tmp_path / "p.npy").unlink(missing_ok=True)
        assert fit_predict(make_task(spec_of("Ridge"), fits=[fit]), store, lambda _: None)["diagnoses"] == [diagnosis]
    assert together[0] != together[1]


def rows(width: int) -> Matrix:
    """Three rows of columns that are not constant."""
    return np.arange(3.0 * width).reshape(3, width)


class Fitted:
    """A fake: a model that was fitted."""

    def __init__(self, values: Any) -> None:
        self.coef_ = values


def test_the_largest_of_many_features_are_reported_and_the_first_of_equal_ones() -> None:
    values = np.zeros(MAX_IMPORTANCES + 30)
    values[[70, 3, 60]] = [-2.0, 1.0, 2.0]
    largest = largest_importances([Fitted(values)], columns_of(rows(len(values))), np.arange(3.0))
    assert largest is not None
    assert largest[:4] == [(60, 2.0), (70, -2.0), (3, 1.0), (0, 0.0)]
    assert [column for column, _ in largest[3:]] == [i for i in range(MAX_IMPORTANCES - 2) if i != 3]
    assert len(largest) == MAX_IMPORTANCES


@pytest.mark.parametrize("values", [None, [1.0], [[1.0, 2.0]], [1.0, float("nan")], [1.0, float("inf")]])
def test_importances_of_another_shape_or_not_finite_are_not_reported(values: Any) -> None:
    assert largest_importances([Fitted(values)], columns_of(rows(2)), np.arange(3.0)) is None


def test_a_library_without_importances_for_its_arguments_fails_no_fit(x: Matrix, y: Matrix) -> None:
    model = XGBRegressor(booster="gblinear", importance_type="gain", n_estimators=2).fit(x, y)
    assert largest_importances([model], columns_of(x), y) is None


@pytest.mark.parametrize("constant", [0.1, 1 / 3, 123456.789])
def test_a_constant_column_has_no_importance_if_its_coefficient_is_rounding(
    x: Matrix, y: Matrix, constant: float
) -> None:
    with_constant = np.column_stack([x, np.full(len(x), constant)])
    model = Ridge().fit(with_constant, y)
    assert model.coef_[-1] != 0
    importances = largest_importances([model], columns_of(with_constant), y)
    assert importances is not None
    assert importances[-1] == (x.shape[1], 0.0)
    assert [value for _, value in importances[:-1]] == sorted(model.coef_[:-1], key=lambda value: -abs(value))


def test_a_constant_column_that_acts_as_the_intercept_keeps_its_importance(x: Matrix, y: Matrix) -> None:
    with_constant = np.column_stack([x, np.ones(len(x))])
    model = Ridge(fit_intercept=False).fit(with_constant, y + 1)
    importances = largest_importances([model], columns_of(with_constant), y + 1)
    assert importances is not None
    assert dict(importances)[x.shape[1]] == float(model.coef_[-1]) != 0


def test_columns_are_constant_if_all_rows_are_equal_up_to_rounding() -> None:
    random = np.random.default_rng(11)
    for n in (1, 2, 63, 64, 65, 1000, 5003):
        x = random.normal(size=(n, 6))
        x[:, 1], x[:, 2] = 1 / 3, 0.0
        x[:, 3] = 1e6 * (1 + np.finfo(float).eps * random.integers(-4, 5, n))
        x[:, 4] = 7.0
        x[random.integers(n), 4] += 1.0
        x[:, 5] = 1e6 * (1 + 20 * np.finfo(float).eps * random.integers(-1, 2, n))
        found = columns_of(x)
        least, most = x.min(axis=0), x.max(axis=0)
        sizes = np.maximum(np.abs(least), np.abs(most))
        np.testing.assert_array_equal(found.is_constant, most - least <= ROUNDING * sizes)
        np.testing.assert_array_equal(found.sizes[found.is_constant], sizes[found.is_constant])
