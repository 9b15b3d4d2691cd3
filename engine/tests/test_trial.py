from pathlib import Path
from typing import Any

import pytest
from regressors import spec_of

from mucast_engine.failure import TaskError
from mucast_engine.trial import trial
from mucast_engine.trial_params import left_out, shortened


def attempt(name: str, scaler: str = "none", columns: int = 8, **params: Any) -> None:
    trial({"task": "trial", "estimator": spec_of(name, **params), "scaler": scaler, "columns": columns})


RIGHT: list[tuple[str, dict[str, Any]]] = [
    ("LGBMRegressor", {}),
    ("LGBMRegressor", {"n_estimators": 100_000}),
    ("LGBMRegressor", {"min_child_samples": 500}),
    ("LGBMRegressor", {"max_bin": 1000, "min_data_in_bin": 100}),
    ("LGBMRegressor", {"subsample": 0.001, "subsample_freq": 1}),
    ("LGBMRegressor", {"bagging_fraction": 0.01, "bagging_freq": 1}),
    ("LGBMRegressor", {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}),
    ("LGBMRegressor", {"boosting_type": "dart"}),
    ("LGBMRegressor", {"data_sample_strategy": "goss"}),
    ("LGBMRegressor", {"feature_fraction": 0.001}),
    ("LGBMRegressor", {"num_leaves": 131_072}),
    ("LGBMRegressor", {"linear_tree": True}),
    ("LGBMRegressor", {"learning_rate": 1e30}),
    ("LGBMRegressor", {"objective": "quantile", "alpha": 0.5}),
    ("LGBMRegressor", {"monotone_constraints": [1, 0, -1], "columns": 3}),
    ("LGBMRegressor", {"max_bin_by_feature": [3, 4], "columns": 2}),
    ("LGBMRegressor", {"interaction_constraints": [[0, 1], [20]], "columns": 21}),
    ("XGBRegressor", {}),
    ("XGBRegressor", {"n_estimators": 100_000}),
    ("XGBRegressor", {"subsample": 0.001}),
    ("XGBRegressor", {"colsample_bytree": 0.01}),
    ("XGBRegressor", {"max_bin": 100_000}),
    ("XGBRegressor", {"booster": "gblinear"}),
    ("XGBRegressor", {"booster": "dart", "rate_drop": 0.1}),
    ("XGBRegressor", {"objective": "reg:squaredlogerror"}),
    ("XGBRegressor", {"min_child_weight": 1000}),
    ("XGBRegressor", {"monotone_constraints": "(1,0)"}),
    ("XGBRegressor", {"interaction_constraints": "[[0, 1], [2, 20]]"}),
    ("CatBoostRegressor", {"iterations": 100_000}),
    ("CatBoostRegressor", {"min_data_in_leaf": 500, "grow_policy": "Lossguide"}),
    ("CatBoostRegressor", {"bootstrap_type": "Bernoulli", "subsample": 0.001}),
    ("CatBoostRegressor", {"rsm": 0.001}),
    ("CatBoostRegressor", {"border_count": 1000}),
    ("CatBoostRegressor", {"boosting_type": "Ordered"}),
    ("CatBoostRegressor", {"monotone_constraints": [1, 0]}),
    ("CatBoostRegressor", {"monotone_constraints": "20:1", "columns": 21}),
    ("CatBoostRegressor", {"ignored_features": [50]}),
    ("CatBoostRegressor", {"loss_function": "Quantile:alpha=0.3"}),
    ("CatBoostRegressor", {"target_border": 5.0}),
    ("RandomForestRegressor", {"n_estimators": 100_000}),
    ("RandomForestRegressor", {"max_samples": 5000}),
    ("RandomForestRegressor", {"max_samples": 0.001}),
    ("RandomForestRegressor", {"min_samples_split": 500, "min_samples_leaf": 500}),
    ("RandomForestRegressor", {"oob_score": True}),
    ("RandomForestRegressor", {"max_features": 50}),
    ("RandomForestRegressor", {"monotonic_cst": [1, 0, -1], "columns": 3}),
    ("LinearRegression", {"positive": True}),
    ("Ridge", {"solver": "saga", "max_iter": 10**9, "tol": 0.0}),
    ("Lasso", {"max_iter": 10**9, "tol": 0.0, "alpha": 1e-9}),
    ("Lasso", {"precompute": True}),
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
    ("LGBMRegressor", "learning_rate", "fast"),
    ("LGBMRegressor", "num_leaves", 1),
    ("LGBMRegressor", "n_estimators", -5),
    ("LGBMRegressor", "n_estimators", "many"),
    ("LGBMRegressor", "n_estimators", 2.5),
    ("LGBMRegressor", "boosting_type", "no such"),
    ("LGBMRegressor", "max_bin", 1),
    ("LGBMRegressor", "subsample", 2),
    ("LGBMRegressor", "max_depth", "deep"),
    ("LGBMRegressor", "min_child_samples", -3),
    ("LGBMRegressor", "reg_alpha", -1),
    ("XGBRegressor", "no_such_name", 1),
    ("XGBRegressor", "learning_rate", -1),
    ("XGBRegressor", "max_depth", 2.5),
    ("XGBRegressor", "n_estimators", 10.0),
    ("XGBRegressor", "subsample", 2),
    ("XGBRegressor", "booster", "no such"),
    ("XGBRegressor", "tree_method", "no such"),
    ("XGBRegressor", "rate_drop", 0.1),
    ("XGBRegressor", "max_bin", 1),
    ("XGBRegressor", "base_score", "high"),
    ("XGBRegressor", "monotone_constraints", [1, 0]),
    ("CatBoostRegressor", "no_such_name", 1),
    ("CatBoostRegressor", "learning_rate", "fast"),
    ("CatBoostRegressor", "depth", 20),
    ("CatBoostRegressor", "iterations", 0),
    ("CatBoostRegressor", "iterations", "many"),
    ("CatBoostRegressor", "loss_function", "no such"),
    ("CatBoostRegressor", "rsm", 2),
    ("CatBoostRegressor", "l2_leaf_reg", -1),
    ("RandomForestRegressor", "no_such_name", 1),
    ("RandomForestRegressor", "n_estimators", -1),
    ("RandomForestRegressor", "n_estimators", 10.0),
    ("RandomForestRegressor", "max_depth", 0),
    ("RandomForestRegressor", "max_features", 2.0),
    ("RandomForestRegressor", "criterion", "no such"),
    ("LinearRegression", "fit_intercept", "yes"),
    ("Ridge", "alpha", -1),
    ("Ridge", "alpha", [1, 2]),
    ("Ridge", "solver", "no such"),
    ("Lasso", "max_iter", 0),
    ("Lasso", "max_iter", 10.5),
    ("Lasso", "selection", "no such"),
    ("ElasticNet", "l1_ratio", 2),
    ("QuantileRegressor", "quantile", 1),
    ("QuantileRegressor", "solver", "interior-point"),
    ("QuantileRegressor", "solver_options", {"no_such_option": 3}),
]


@pytest.mark.parametrize(("name", "parameter", "value"), WRONG)
def test_a_wrong_name_or_value_is_refused_and_named(name: str, parameter: str, value: Any) -> None:
    with pytest.raises(TaskError) as raised:
        attempt(name, **{parameter: value})
    assert raised.value.code == "invalid_model_params"
    assert raised.value.data["parameter"] == parameter
    assert raised.value.data["value"] == value
    assert raised.value.data["sentence"] in raised.value.message


def test_if_two_values_conflict_the_error_names_the_one_in_the_sentence_or_the_one_to_drop() -> None:
    with pytest.raises(TaskError, match="alpha = 2") as raised:
        attempt("LGBMRegressor", objective="quantile", alpha=2)
    assert raised.value.data["parameter"] == "alpha"


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
    with pytest.raises(TaskError) as raised:
        attempt(name, **{parameter: value})
    assert raised.value.code == "device_unavailable"


@pytest.mark.parametrize("scaler", ["none", "standard", "minmax", "robust", "maxabs"])
def test_the_scaler_takes_part(scaler: str) -> None:
    attempt("Ridge", scaler)


def test_a_refusal_in_the_log_is_gone_at_the_next_trial() -> None:
    with pytest.raises(TaskError):
        attempt("LGBMRegressor", no_such_name=1)
    attempt("LGBMRegressor")


def test_the_message_is_the_same_at_every_time_of_day() -> None:
    messages = []
    for _ in range(2):
        with pytest.raises(TaskError) as raised:
            attempt("XGBRegressor", booster="no such")
        messages.append(raised.value.message)
    assert messages[0] == messages[1] == "XGBRegressor refuses booster = 'no such': Unknown gbm type no such"


def test_a_long_value_is_not_repeated_in_full() -> None:
    with pytest.raises(TaskError) as raised:
        attempt("Ridge", solver="x" * 10_000)
    assert len(raised.value.message) < 1_000


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


def test_a_trial_without_the_number_of_iterations_is_short_too() -> None:
    params = {"iterations": 0, "depth": 3}
    assert left_out("catboost", params, "iterations") == {"iterations": 2, "depth": 3}
    assert left_out("catboost", params, "depth") == {"iterations": 0}


def test_no_attempt_to_find_the_culprit_writes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TaskError) as raised:
        attempt("CatBoostRegressor", border_count=-0.0, allow_writing_files=False)
    assert raised.value.data["parameter"] == "border_count"
    assert list(tmp_path.iterdir()) == []
