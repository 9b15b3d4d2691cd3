"""The regressors, scalers and folds of the slow, obvious twins.

It shares no code with mucast or its engine. Import it before numpy: it limits the math libraries to one thread.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np

MINIMUM_FIT_ROWS = 30


def regressor(model, given):
    """A fresh, unfitted regressor: the caller's arguments, plus seed, silence and one thread unless given."""
    model = model.lower()
    params = dict(given)
    if model in ("random_forest", "rf"):
        from sklearn.ensemble import RandomForestRegressor

        params.setdefault("random_state", 42)
        return RandomForestRegressor(**{**params, "n_jobs": 1})
    if model in ("xgboost", "xgb"):
        from xgboost import XGBRegressor

        params.setdefault("random_state", 42)
        params.setdefault("verbosity", 0)
        params.pop("nthread", None)
        return XGBRegressor(**{**params, "n_jobs": 1})
    if model in ("lightgbm", "lgbm"):
        from lightgbm import LGBMRegressor

        params.setdefault("random_state", 42)
        params.setdefault("verbose", -1)
        params.pop("num_threads", None)
        return LGBMRegressor(**{**params, "n_jobs": 1})
    if model == "catboost":
        from catboost import CatBoostRegressor

        params.setdefault("random_seed", 42)
        params.setdefault("verbose", False)
        return CatBoostRegressor(**{**params, "thread_count": 1, "allow_writing_files": False})

    from sklearn import linear_model

    if model in ("linear", "linear_regression"):
        return linear_model.LinearRegression(**params)
    if model == "quantile":
        return linear_model.QuantileRegressor(**params)
    names = {"ridge": "Ridge", "lasso": "Lasso", "elastic_net": "ElasticNet"}
    params.setdefault("random_state", 42)
    return getattr(linear_model, names[model])(**params)


def scaled(scaler, train, test):
    if scaler == "none":
        return train, test
    from sklearn import preprocessing

    names = {
        "standard": "StandardScaler",
        "minmax": "MinMaxScaler",
        "robust": "RobustScaler",
        "maxabs": "MaxAbsScaler",
    }
    fitted = getattr(preprocessing, names[scaler])().fit(train)
    return fitted.transform(train), fitted.transform(test)


def forecast(params, rows, train_days, test_days):
    """Forecasts of the test days, and the model that made them."""
    train = np.array([rows["x"][d] for d in train_days], dtype=np.float64)
    test = np.array([rows["x"][d] for d in test_days or train_days], dtype=np.float64)
    y = np.array([rows["label"][d] for d in train_days], dtype=np.float64)
    train, test = scaled(params.get("scaler", "none"), train, test)
    model = regressor(params["model"], params.get("model_params", {}))
    model.fit(train, y)
    return [float(value) for value in model.predict(test)][: len(test_days)], model


def folds_of(n, test_size, n_splits, delay=0):
    """The first and the last test row of each fold."""
    k = max(0, min(n_splits, (n - MINIMUM_FIT_ROWS - delay) // test_size))
    return [(n - (k - j) * test_size, n - (k - j - 1) * test_size) for j in range(k)]


def known_by(rows, days, day):
    """The days whose label is known at the close of a day."""
    return [d for d in days if rows["label_day"][d] <= day]
