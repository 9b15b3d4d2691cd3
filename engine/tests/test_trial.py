from pathlib import Path
from typing import Any

import pytest
from regressors import spec_of

from mucast_engine.failure import TaskError
from mucast_engine.trial import left_out, shortened, trial


def attempt(name: str, scaler: str = "none", columns: int = 8, **params: Any) -> None:
    trial({"task": "trial", "estimator": spec_of(name, **params), "scaler": scaler, "columns": columns})


def refusal(name: str, **params: Any) -> TaskError:
    with pytest.raises(TaskError) as raised:
        attempt(name, **params)
    return raised.value


RIGHT: list[tuple[str, dict[str, Any]]] = [
    ("LGBMRegressor", {"n_estimators": 100_000, "min_child_samples": 500}),
    ("LGBMRegressor", {"max_bin": 1000, "min_data_in_bin": 100}),
    ("LGBMRegressor", {"subsample": 0.001, "subsample_freq": 1}),
    ("LGBMRegressor", {"boosting_type": "rf", "bagging_fraction": 0.01, "bagging_freq": 1}),
    ("LGBMRegressor", {"feature_fraction": 0.001, "num_leaves": 131_072, "learning_rate": 1e30}),
    ("LGBMRegressor", {"linear_tree": True}),
    ("LGBMRegressor", {"objective": "quantile", "alpha": 0.5}),
    ("LGBMRegressor", {"monotone_constraints": [1, 0, -1], "columns": 3}),
    ("LGBMRegressor", {"interaction_constraints": [[0, 1], [20]], "columns": 21}),
    ("XGBRegressor", {"n_estimators": 100_000, "subsample": 0.001, "colsample_bytree": 0.01, "max_bin": 100_000}),
    ("XGBRegressor", {"booster": "gblinear"}),
    ("XGBRegressor", {"booster": "dart", "rate_drop": 0.1}),
    ("XGBRegressor", {"objective": "reg:squaredlogerror", "min_child_weight": 1000}),
    ("XGBRegressor", {"monotone_constraints": "(1,0)", "interaction_constraints": "[[0, 1], [2, 20]]"}),
    ("CatBoostRegressor", {"iterations": 100_000, "border_count": 1000, "rsm": 0.001}),
    ("CatBoostRegressor", {"min_data_in_leaf": 500, "grow_policy": "Lossguide"}),
    ("CatBoostRegressor", {"bootstrap_type": "Bernoulli", "subsample": 0.001}),
    ("CatBoostRegressor", {"monotone_constraints": "20:1", "columns": 21}),
    ("CatBoostRegressor", {"ignored_features": [50], "loss_function": "Quantile:alpha=0.3"}),
    ("CatBoostRegressor", {"target_border": 5.0}),
    ("RandomForestRegressor", {"n_estimators": 100_000, "max_samples": 5000, "max_features": 50}),
    ("RandomForestRegressor", {"min_samples_split": 500, "max_samples": 0.001}),
    ("RandomForestRegressor", {"oob_score": True}),
    ("LinearRegression", {"positive": True}),
    ("Ridge", {"solver": "saga", "max_iter": 10**9, "tol": 0.0, "scaler": "robust"}),
    ("Lasso", {"max_iter": 10**9, "tol": 0.0, "alpha": 1e-9, "precompute": True}),
    ("ElasticNet", {"l1_ratio": 0}),
    ("QuantileRegressor", {"solver": "highs-ds"}),
]


@pytest.mark.parametrize(("name", "params"), RIGHT)
def test_values_that_only_few_rows_or_few_iterations_would_refuse_are_accepted(
    name: str, params: dict[str, Any]
) -> None:
    attempt(name, **params)


WRONG: list[tuple[str, str, Any]] = [
    ("LGBMRegressor", "no_such_name", 1),
    ("LGBMRegressor", "learning_rate", -1),
    ("LGBMRegressor", "num_leaves", 1),
    ("LGBMRegressor", "n_estimators", "many"),
    ("LGBMRegressor", "n_estimators", 2.5),
    ("LGBMRegressor", "boosting_type", "no such"),
    ("LGBMRegressor", "max_bin", 1),
    ("LGBMRegressor", "subsample", 2),
    ("LGBMRegressor", "min_child_samples", -3),
    ("XGBRegressor", "no_such_name", 1),
    ("XGBRegressor", "max_depth", 2.5),
    ("XGBRegressor", "n_estimators", 10.0),
    ("XGBRegressor", "tree_method", "no such"),
    ("XGBRegressor", "rate_drop", 0.1),
    ("XGBRegressor", "base_score", "high"),
    ("XGBRegressor", "monotone_constraints", [1, 0]),
    ("CatBoostRegressor", "no_such_name", 1),
    ("CatBoostRegressor", "depth", 20),
    ("CatBoostRegressor", "iterations", 0),
    ("CatBoostRegressor", "loss_function", "no such"),
    ("CatBoostRegressor", "l2_leaf_reg", -1),
    ("RandomForestRegressor", "no_such_name", 1),
    ("RandomForestRegressor", "n_estimators", 10.0),
    ("RandomForestRegressor", "max_features", 2.0),
    ("LinearRegression", "fit_intercept", "yes"),
    ("Ridge", "alpha", [1, 2]),
    ("Lasso", "max_iter", 0),
    ("ElasticNet", "l1_ratio", 2),
    ("QuantileRegressor", "solver", "interior-point"),
]


@pytest.mark.parametrize(("name", "parameter", "value"), WRONG)
def test_a_wrong_name_or_value_is_refused_and_named(name: str, parameter: str, value: Any) -> None:
    error = refusal(name, **{parameter: value})
    assert error.code == "invalid_model_params"
    assert (error.data["parameter"], error.data["value"]) == (parameter, value)
    assert error.data["sentence"] in error.message


def test_if_two_values_conflict_the_error_names_the_one_in_the_sentence_or_the_one_to_drop() -> None:
    error = refusal("LGBMRegressor", objective="quantile", alpha=2)
    assert "alpha = 2" in error.message
    assert error.data["parameter"] == "alpha"
    attempt("LGBMRegressor")  # What the log has said is gone at the next trial.


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("XGBRegressor", "device", "cuda"),
        ("LGBMRegressor", "device_type", "gpu"),
        ("LGBMRegressor", "device_type", "cuda"),
        ("CatBoostRegressor", "task_type", "GPU"),
    ],
)
def test_a_missing_device_causes_no_silent_run_on_the_cpu(name: str, parameter: str, value: str) -> None:
    assert refusal(name, **{parameter: value}).code == "device_unavailable"


def test_the_message_has_no_time_of_day_and_repeats_no_long_value() -> None:
    message = "XGBRegressor refuses booster = 'no such': Unknown gbm type no such"
    assert refusal("XGBRegressor", booster="no such").message == message
    assert len(refusal("Ridge", solver="x" * 10_000).message) < 1_000


@pytest.mark.parametrize(
    ("name", "parameter", "value", "tried"),
    [
        ("CatBoostRegressor", "iterations", 1e9, 2.0),
        ("CatBoostRegressor", "iterations", 1e9 + 0.5, 1e9 + 0.5),
        ("XGBRegressor", "num_parallel_tree", 1_000_000_000, 2),
        ("RandomForestRegressor", "n_estimators", True, True),
    ],
)
def test_a_trial_is_short_however_the_number_of_trees_is_written(
    name: str, parameter: str, value: Any, tried: Any
) -> None:
    params = shortened(spec_of(name, **{parameter: value}))
    assert params[parameter] == tried
    assert type(params[parameter]) is type(tried)


def test_a_search_for_the_culprit_is_short_and_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    params = {"iterations": 0, "depth": 3}
    assert left_out("catboost", params, "iterations") == {"iterations": 2, "depth": 3}
    assert left_out("catboost", params, "depth") == {"iterations": 0}
    monkeypatch.chdir(tmp_path)
    error = refusal("CatBoostRegressor", border_count=-0.0, allow_writing_files=False)
    assert error.data["parameter"] == "border_count"
    assert list(tmp_path.iterdir()) == []
