"""The regressors as a plain script would construct them, with the additions of the engine's caller."""

from typing import Any

from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, QuantileRegressor, Ridge
from xgboost import XGBRegressor

CATBOOST = {"iterations": 15, "random_seed": 42, "verbose": False, "thread_count": 1, "allow_writing_files": False}

REGRESSORS: list[tuple[str, type, dict[str, Any]]] = [
    ("sklearn", RandomForestRegressor, {"n_estimators": 15, "random_state": 42, "n_jobs": 1}),
    ("xgboost", XGBRegressor, {"n_estimators": 15, "random_state": 42, "n_jobs": 1, "verbosity": 0}),
    ("lightgbm", LGBMRegressor, {"n_estimators": 15, "random_state": 42, "n_jobs": 1, "verbose": -1}),
    ("catboost", CatBoostRegressor, CATBOOST),
    ("sklearn", LinearRegression, {"n_jobs": 1}),
    ("sklearn", Ridge, {"alpha": 2.5, "random_state": 42}),
    ("sklearn", Lasso, {"alpha": 1e-4, "random_state": 42}),
    ("sklearn", ElasticNet, {"alpha": 1e-4, "l1_ratio": 0.3, "random_state": 42}),
    ("sklearn", QuantileRegressor, {"quantile": 0.4, "alpha": 1e-5}),
]

NAMES = [regressor.__name__ for _, regressor, _ in REGRESSORS]


def spec_of(name: str, **changes: Any) -> dict[str, Any]:
    """The message of a regressor; keywords change its arguments."""
    library, regressor, params = REGRESSORS[NAMES.index(name)]
    return {"library": library, "class": regressor.__name__, "params": {**params, **changes}}
