"""Regressors and scalers as a task names them: always new ones, so that no fit depends on an earlier one."""

import importlib
import random
from typing import Any, Literal

import numpy as np

from mucast_engine.failure import TaskError

# The module that Python imports.
Library = Literal["sklearn", "xgboost", "lightgbm", "catboost"]

LINEAR_MODULE = "sklearn.linear_model"

# By the model that outputs record: its library, the class, and the module that contains the class.
REGRESSORS: dict[str, tuple[Library, str, str]] = {
    "random_forest": ("sklearn", "RandomForestRegressor", "sklearn.ensemble"),
    "xgboost": ("xgboost", "XGBRegressor", "xgboost"),
    "lightgbm": ("lightgbm", "LGBMRegressor", "lightgbm"),
    "catboost": ("catboost", "CatBoostRegressor", "catboost"),
    "linear": ("sklearn", "LinearRegression", LINEAR_MODULE),
    "ridge": ("sklearn", "Ridge", LINEAR_MODULE),
    "lasso": ("sklearn", "Lasso", LINEAR_MODULE),
    "elastic_net": ("sklearn", "ElasticNet", LINEAR_MODULE),
    "quantile": ("sklearn", "QuantileRegressor", LINEAR_MODULE),
}

# Classes of sklearn.preprocessing.
SCALERS: dict[str, str | None] = {
    "none": None,
    "standard": "StandardScaler",
    "minmax": "MinMaxScaler",
    "robust": "RobustScaler",
    "maxabs": "MaxAbsScaler",
}


def make_estimator(spec: dict[str, Any], params: dict[str, Any]) -> Any:
    """A new regressor, created from the same state of the global generators, whatever ran in this process before.

    An estimator with `random_state=None` draws from those generators.
    """
    np.random.seed(0)
    random.seed(0)
    return estimator_class(spec["library"], spec["class"])(**params)


def estimator_class(library: str, name: str) -> Any:
    """The class `name` of `library`; only those of `REGRESSORS` can be named."""
    for its_library, its_name, module in REGRESSORS.values():
        if (its_library, its_name) == (library, name):
            return getattr(importlib.import_module(module), name)
    raise TaskError("internal", f"no regressor {name!r} in {library!r}")


def is_linear(spec: dict[str, Any]) -> bool:
    """Whether the regressor is one of scikit-learn's linear models."""
    linear = {(library, name) for library, name, module in REGRESSORS.values() if module == LINEAR_MODULE}
    return (spec["library"], spec["class"]) in linear


def make_scaler(name: str) -> Any | None:
    """A new scikit-learn scaler with its defaults; None for `none`."""
    if name not in SCALERS:
        raise TaskError("internal", f"no scaler {name!r}")
    scaler = SCALERS[name]
    return None if scaler is None else getattr(importlib.import_module("sklearn.preprocessing"), scaler)()
