"""Fits of several numbers of trees at once: bit for bit what separate fits give."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from regressors import spec_of
from task_files import Task, save, values_of

from mucast_engine.arrays import ArrayStore, Message
from mucast_engine.fit_predict import fit_predict

COUNTS = [3, 10, 25]

LENGTHS = {
    "LGBMRegressor": "n_estimators",
    "XGBRegressor": "n_estimators",
    "CatBoostRegressor": "iterations",
    "RandomForestRegressor": "n_estimators",
}

# Arguments that `src/jobs/ml/candidates/tree-counts.ts` accepts beside the number of trees, with values that change
# the trees.
ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    ("LGBMRegressor", {}),
    ("LGBMRegressor", {"learning_rate": 0.03, "num_leaves": 5, "max_depth": 3, "min_child_samples": 8}),
    ("LGBMRegressor", {"subsample": 0.6, "subsample_freq": 2, "colsample_bytree": 0.5, "random_state": 7}),
    ("LGBMRegressor", {"reg_alpha": 0.001, "reg_lambda": 2.0, "min_split_gain": 1e-7, "min_child_weight": 0.1}),
    ("LGBMRegressor", {"objective": "huber", "max_bin": 31, "importance_type": "gain"}),
    ("LGBMRegressor", {"objective": "l1", "extra_trees": True, "path_smooth": 1.0}),
    ("LGBMRegressor", {"objective": "quantile", "alpha": 0.3}),
    ("LGBMRegressor", {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}),
    ("LGBMRegressor", {"min_child_samples": 500}),
    ("XGBRegressor", {}),
    ("XGBRegressor", {"learning_rate": 0.03, "max_depth": 3, "min_child_weight": 5, "gamma": 1e-5}),
    ("XGBRegressor", {"subsample": 0.6, "colsample_bytree": 0.6, "colsample_bylevel": 0.7, "colsample_bynode": 0.7}),
    ("XGBRegressor", {"tree_method": "exact", "reg_alpha": 0.01, "reg_lambda": 3}),
    ("XGBRegressor", {"tree_method": "approx", "base_score": 0.001, "max_delta_step": 0.1}),
    ("XGBRegressor", {"grow_policy": "lossguide", "max_leaves": 6, "max_bin": 32, "importance_type": "weight"}),
    ("XGBRegressor", {"objective": "reg:pseudohubererror", "huber_slope": 0.01, "num_parallel_tree": 3}),
    ("XGBRegressor", {"objective": "reg:absoluteerror", "booster": "gbtree", "importance_type": "total_gain"}),
    ("CatBoostRegressor", {"learning_rate": 0.05}),
    ("CatBoostRegressor", {"learning_rate": 0.1, "depth": 3, "l2_leaf_reg": 8, "random_strength": 4, "rsm": 0.5}),
    ("CatBoostRegressor", {"learning_rate": 0.1, "bootstrap_type": "Bernoulli", "subsample": 0.5}),
    ("CatBoostRegressor", {"learning_rate": 0.1, "bootstrap_type": "Bayesian", "bagging_temperature": 2}),
    ("CatBoostRegressor", {"learning_rate": 0.1, "loss_function": "MAE", "border_count": 20}),
    ("CatBoostRegressor", {"learning_rate": 0.1, "boosting_type": "Ordered", "leaf_estimation_iterations": 4}),
    ("CatBoostRegressor", {"learning_rate": 0.1, "score_function": "L2", "sampling_frequency": "PerTree"}),
    ("RandomForestRegressor", {}),
    ("RandomForestRegressor", {"max_features": 0.4, "max_depth": 4, "min_samples_leaf": 3, "max_samples": 0.6}),
    ("RandomForestRegressor", {"bootstrap": False, "max_features": "sqrt", "criterion": "absolute_error"}),
]


def fitted(task: Task, store: ArrayStore) -> tuple[bytes, list[Message]]:
    result = fit_predict(task, store, lambda _: None)
    predictions = values_of(result["predictions"]).tobytes()
    Path(task["predictions"]["ref"]).unlink(missing_ok=True)
    return predictions, result["diagnoses"]


@pytest.mark.parametrize(("name", "arguments"), ARGUMENTS)
def test_the_first_trees_of_a_fit_are_those_of_a_shorter_fit(
    name: str, arguments: dict[str, Any], make_task: Callable[..., Task], store: ArrayStore
) -> None:
    length = LENGTHS[name]
    slow = [fitted(make_task(spec_of(name, **{**arguments, length: count})), store) for count in COUNTS]
    longest = make_task(spec_of(name, **{**arguments, length: COUNTS[-1]}), tree_counts=COUNTS)
    predictions, diagnoses = fitted(longest, store)
    assert predictions == b"".join(own for own, _ in slow)
    assert diagnoses == [diagnosis for _, own in slow for diagnosis in own]


@pytest.mark.parametrize("name", LENGTHS)
def test_shared_rows_with_absent_values_too(
    name: str, make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path
) -> None:
    """As a pooled fit has them, with more rows than fit into a message."""
    random = np.random.default_rng(11)
    x = random.normal(size=(4000, 6))
    x[::5, 2] = np.nan
    y = 0.01 * random.normal(size=2500) + 0.002 * x[:2500, 0]
    given = {
        "x": save(tmp_path, "wide.npy", x),
        "y": save(tmp_path, "labels.npy", y),
        "fits": [{"train": [0, 2500], "predict": [2500, 4000], "diagnose": True}],
        "scaler": "standard",
        "views": True,
        "absent": True,
    }
    rate = {"learning_rate": 0.1} if name == "CatBoostRegressor" else {}
    length = LENGTHS[name]
    slow = [fitted(make_task(spec_of(name, **rate, **{length: count}), **given), store) for count in COUNTS]
    task = make_task(spec_of(name, **rate, **{length: COUNTS[-1]}), tree_counts=COUNTS, **given)
    predictions, diagnoses = fitted(task, store)
    assert predictions == b"".join(own for own, _ in slow)
    assert diagnoses == [diagnosis for _, own in slow for diagnosis in own]


@pytest.mark.parametrize(
    "arguments",
    [
        {"subsample": 0.7, "subsample_freq": 1},
        {"colsample_bytree": 0.2, "min_split_gain": 2.0},
        {"extra_trees": True},
        {"min_split_gain": 2.0},
    ],
)
def test_rounds_without_a_tree_between_rounds_with_one(
    arguments: dict[str, Any], make_task: Callable[..., Task], store: ArrayStore, tmp_path: Path
) -> None:
    """lightgbm needs 20 rows in a leaf, which few samples of 60 rows allow."""
    random = np.random.default_rng(0)
    x = random.normal(size=(100, 6))
    y = 0.5 * x[:60, 0] + random.normal(size=60)
    given = {
        "x": save(tmp_path, "few.npy", x),
        "y": save(tmp_path, "few_labels.npy", y),
        "fits": [{"train": [0, 60], "predict": [60, 100], "diagnose": True}],
    }
    counts = [5, 50, 150]
    slow = [fitted(make_task(spec_of("LGBMRegressor", **arguments, n_estimators=n), **given), store) for n in counts]
    longest = make_task(spec_of("LGBMRegressor", **arguments, n_estimators=counts[-1]), tree_counts=counts, **given)
    predictions, diagnoses = fitted(longest, store)
    assert predictions == b"".join(own for own, _ in slow)
    assert diagnoses == [diagnosis for _, own in slow for diagnosis in own]
