from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from regressors import NAMES, REGRESSORS, spec_of
from sklearn.linear_model import ElasticNet, Lasso, Ridge
from sklearn.preprocessing import StandardScaler
from task_files import Task
from xgboost import XGBRegressor

from mucast_engine.arrays import ArrayStore, Matrix
from mucast_engine.diagnosis import (
    MAX_IMPORTANCES,
    ROUNDING,
    columns_of,
    describe_constant,
    largest_alpha,
    largest_importances,
)
from mucast_engine.fit_predict import fit_predict

FITS = [{"train": [0, 200], "predict": [200, 240]}, {"train": [0, 280], "predict": [280, 300], "diagnose": True}]


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
    task = make_task(spec, scaler="standard", fits=FITS)
    [diagnosis] = fit_predict(task, store, lambda _: None)["diagnoses"]
    model = regressor(**params).fit(StandardScaler().fit_transform(x[:280]), y[:280])
    expected = model.coef_ if regressor.__module__.startswith("sklearn.linear_model") else model.feature_importances_
    assert dict(diagnosis["importances"]) == {column: float(value) for column, value in enumerate(expected)}
    sizes = [abs(value) for _, value in diagnosis["importances"]]
    assert sizes == sorted(sizes, reverse=True)
    assert "constant" not in diagnosis


class Fitted:
    """A fake: a model that was fitted."""

    def __init__(self, values: Any) -> None:
        self.coef_ = values


def varying(width: int) -> Matrix:
    return np.arange(3.0 * width).reshape(3, width)


def test_the_largest_of_many_features_are_reported_and_the_first_of_equal_ones() -> None:
    values = np.zeros(MAX_IMPORTANCES + 30)
    values[[70, 3, 60]] = [-2.0, 1.0, 2.0]
    largest = largest_importances([Fitted(values)], columns_of(varying(len(values))), np.arange(3.0))
    assert largest is not None
    assert largest[:4] == [(60, 2.0), (70, -2.0), (3, 1.0), (0, 0.0)]
    assert len(largest) == MAX_IMPORTANCES


@pytest.mark.parametrize("values", [None, [1.0], [1.0, float("nan")]])
def test_importances_of_another_shape_or_not_finite_are_not_reported(values: Any) -> None:
    assert largest_importances([Fitted(values)], columns_of(varying(2)), np.arange(3.0)) is None


def test_a_library_without_importances_for_its_arguments_fails_no_fit(x: Matrix, y: Matrix) -> None:
    model = XGBRegressor(booster="gblinear", importance_type="gain", n_estimators=2).fit(x, y)
    assert largest_importances([model], columns_of(x), y) is None


def test_a_constant_column_has_no_importance_unless_it_acts_as_the_intercept(x: Matrix, y: Matrix) -> None:
    with_constant = np.column_stack([x, np.full(len(x), 1 / 3)])
    for model, is_kept in [(Ridge(), False), (Ridge(fit_intercept=False), True)]:
        model.fit(with_constant, y + 1)
        assert model.coef_[-1] != 0
        importances = largest_importances([model], columns_of(with_constant), y + 1)
        assert importances is not None
        assert dict(importances)[x.shape[1]] == (float(model.coef_[-1]) if is_kept else 0.0)


def test_columns_are_constant_if_all_rows_are_equal_up_to_rounding() -> None:
    random = np.random.default_rng(11)
    for n in (1, 63, 64, 5003):
        x = random.normal(size=(n, 5))
        x[:, 1] = 1 / 3
        x[:, 2] = 1e6 * (1 + np.finfo(float).eps * random.integers(-4, 5, n))
        x[:, 3] = 7.0
        x[random.integers(n), 3] += 1.0
        x[:, 4] = 1e6 * (1 + 20 * np.finfo(float).eps * random.integers(-1, 2, n))
        found = columns_of(x)
        least, most = x.min(axis=0), x.max(axis=0)
        sizes = np.maximum(np.abs(least), np.abs(most))
        np.testing.assert_array_equal(found.is_constant, most - least <= ROUNDING * sizes)
        np.testing.assert_array_equal(found.sizes[found.is_constant], sizes[found.is_constant])


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    positive=st.booleans(),
    fit_intercept=st.booleans(),
    l1_ratio=st.none() | st.floats(0.1, 1.0),
)
def test_just_below_the_largest_alpha_a_coefficient_is_kept_and_just_above_none(
    seed: int, positive: bool, fit_intercept: bool, l1_ratio: float | None
) -> None:
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((50, 4)) + 3
    y = 0.5 * x[:, 0] + generator.standard_normal(50) + 1
    params: dict[str, Any] = {"positive": positive, "fit_intercept": fit_intercept}
    regressor = Lasso if l1_ratio is None else ElasticNet
    params |= {} if l1_ratio is None else {"l1_ratio": l1_ratio}
    alpha = largest_alpha({"class": regressor.__name__, "params": params}, x, y)
    assert alpha is not None
    for factor, is_kept in [(0.999, True), (1.001, False)]:
        model = regressor(**params, alpha=alpha * factor, tol=1e-12, max_iter=100_000).fit(x, y)
        assert np.any(model.coef_ != 0) == is_kept


def test_no_alpha_keeps_a_negative_slope_that_has_to_be_positive_and_none_counts_without_an_l1_part() -> None:
    x = np.arange(10.0).reshape(-1, 1)
    assert largest_alpha({"class": "Lasso", "params": {"positive": True}}, x, -x[:, 0]) is None
    assert largest_alpha({"class": "ElasticNet", "params": {"l1_ratio": 0.0}}, x, x[:, 0]) is None


def test_predictions_of_one_value_are_described_and_fewer_than_two_rows_are_not() -> None:
    x = np.ones((3, 1))
    for predicted in ([], [0.1], [0.1, 0.2]):
        assert describe_constant({"class": "Ridge", "params": {}}, x, x[:, 0], np.array(predicted)) is None
    for params, expected in [({}, 20), ({"min_data_in_leaf": 8}, 8), ({"min_child_samples": None}, 20)]:
        described = describe_constant({"class": "LGBMRegressor", "params": params}, x, x[:, 0], np.zeros(2))
        assert described == {"value": 0.0, "train_rows": 3, "min_child_samples": expected}


def test_the_constant_of_a_diagnosed_fit_is_the_one_that_it_predicts(
    make_task: Callable[..., Task], store: ArrayStore
) -> None:
    task = make_task(spec_of("LGBMRegressor", min_child_samples=500), fits=FITS[1:])
    [diagnosis] = fit_predict(task, store, lambda _: None)["diagnoses"]
    assert diagnosis["constant"]["min_child_samples"] == 500
