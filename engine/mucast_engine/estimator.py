"""Regressors and scalers from a message: always new ones, so that no fit sees what another one left."""

import importlib
import random
from typing import Any

import numpy as np

from mucast_engine.failure import TaskError

MODULES = {
    "sklearn": {
        "RandomForestRegressor": "sklearn.ensemble",
        "LinearRegression": "sklearn.linear_model",
        "Ridge": "sklearn.linear_model",
        "Lasso": "sklearn.linear_model",
        "ElasticNet": "sklearn.linear_model",
        "QuantileRegressor": "sklearn.linear_model",
    },
    "xgboost": {"XGBRegressor": "xgboost"},
    "lightgbm": {"LGBMRegressor": "lightgbm"},
    "catboost": {"CatBoostRegressor": "catboost"},
}

SCALERS = {
    "standard": "StandardScaler",
    "minmax": "MinMaxScaler",
    "robust": "RobustScaler",
    "maxabs": "MaxAbsScaler",
}


def estimator_class(spec: dict[str, Any]) -> Any:
    """The constructor that `spec` names; only the classes of `MODULES` can be named."""
    module = MODULES.get(spec["library"], {}).get(spec["class"])
    if module is None:
        raise TaskError("internal", f"no regressor {spec['class']!r} in {spec['library']!r}")
    return getattr(importlib.import_module(module), spec["class"])


def make_estimator(spec: dict[str, Any], params: dict[str, Any]) -> Any:
    """A new regressor, made from the same state of the global generators whatever ran in this process before.

    An estimator that is told `random_state=None` draws from those generators.
    """
    np.random.seed(0)
    random.seed(0)
    return estimator_class(spec)(**params)


def make_scaler(name: str) -> Any | None:
    """A new scikit-learn scaler with its defaults; None for `none`."""
    if name == "none":
        return None
    if name not in SCALERS:
        raise TaskError("internal", f"no scaler {name!r}")
    return getattr(importlib.import_module("sklearn.preprocessing"), SCALERS[name])()
