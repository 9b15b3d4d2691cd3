from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import ElasticNet, Lasso

from mucast_engine.arrays import Matrix
from mucast_engine.constant import describe_constant, largest_alpha


def keeps_a_coefficient(spec: dict[str, Any], alpha: float, x: Matrix, y: Matrix) -> bool:
    regressor = {"Lasso": Lasso, "ElasticNet": ElasticNet}[spec["class"]]
    model = regressor(**{**spec["params"], "alpha": alpha, "tol": 1e-12, "max_iter": 100_000}).fit(x, y)
    return bool(np.any(model.coef_ != 0))


@settings(deadline=None, max_examples=40)
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
    spec: dict[str, Any] = {"class": "Lasso", "params": params}
    if l1_ratio is not None:
        spec = {"class": "ElasticNet", "params": {**params, "l1_ratio": l1_ratio}}
    alpha = largest_alpha(spec, x, y)
    assert alpha is not None
    assert keeps_a_coefficient(spec, alpha * 0.999, x, y)
    assert not keeps_a_coefficient(spec, alpha * 1.001, x, y)


def test_if_every_slope_is_negative_no_alpha_keeps_a_positive_coefficient() -> None:
    x = np.arange(10.0).reshape(-1, 1)
    spec = {"class": "Lasso", "params": {"positive": True}}
    assert largest_alpha(spec, x, -x[:, 0]) is None


def test_without_an_l1_part_no_alpha_is_named() -> None:
    x = np.arange(10.0).reshape(-1, 1)
    assert largest_alpha({"class": "ElasticNet", "params": {"l1_ratio": 0.0}}, x, x[:, 0]) is None


@pytest.mark.parametrize("predicted", [[], [0.1], [0.1, 0.2]])
def test_fewer_than_two_rows_or_two_values_are_not_constant(predicted: list[float]) -> None:
    x = np.ones((3, 1))
    assert describe_constant({"class": "Ridge", "params": {}}, x, x[:, 0], np.array(predicted)) is None


@pytest.mark.parametrize(
    ("params", "expected"),
    [({}, 20), ({"min_child_samples": 7}, 7), ({"min_data_in_leaf": 8}, 8), ({"min_child_samples": None}, 20)],
)
def test_min_child_samples_is_found_under_any_of_its_names(params: dict[str, int | None], expected: int) -> None:
    x = np.ones((3, 1))
    spec = {"class": "LGBMRegressor", "params": params}
    described = describe_constant(spec, x, x[:, 0], np.zeros(2))
    assert described == {"value": 0.0, "train_rows": 3, "min_child_samples": expected}
