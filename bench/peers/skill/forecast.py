"""Fits one peer at the cut and writes its forecasts of every later row. Usage: forecast.py PEER PANEL_FOLDER OUT_FILE"""

import sys
from collections.abc import Callable

import lightgbm
import numpy as np
import optuna
import pandas as pd
from mlforecast import MLForecast
from mlforecast.auto import AutoMLForecast, AutoModel
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import ElasticNet, Lasso, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from forecast_file import THREADS, write_forecasts
from panel import Panel

SEED = 42
DEFAULTS = {"random_state": SEED, "verbose": -1, "n_jobs": THREADS}
REGULARISED = {
    "n_estimators": 400,
    "learning_rate": 0.02,
    "num_leaves": 31,
    "min_child_samples": 2000,
    "subsample": 0.7,
    "subsample_freq": 1,
    "colsample_bytree": 0.3,
    "reg_lambda": 50,
}

# qlib, examples/benchmarks/LightGBM/workflow_config_lightgbm_Alpha158.yaml, without its number of threads. Rounds and
# early stopping are the defaults of its LGBModel.
QLIB = {
    "objective": "mse",
    "colsample_bytree": 0.8879,
    "learning_rate": 0.2,
    "subsample": 0.8789,
    "lambda_l1": 205.6999,
    "lambda_l2": 580.9768,
    "max_depth": 8,
    "num_leaves": 210,
    "seed": SEED,
    "verbosity": -1,
}
QLIB_ROUNDS, QLIB_STOPPING = 1000, 50
# In it, the last two of nine years before the test are the validation part.
QLIB_VALIDATION = 2 / 9

MLFORECAST_LAGS = 5


def plain_lightgbm(panel: Panel, **params) -> np.ndarray:
    model = lightgbm.LGBMRegressor(**params, **DEFAULTS).fit(panel.x[panel.learn], panel.y[panel.learn])
    return model.predict(panel.x[panel.score])


def z_scores_by_date(y: np.ndarray, date: np.ndarray) -> np.ndarray:
    """qlib's CSZScoreNorm of labels."""
    by_date = pd.Series(y).groupby(date)
    return ((y - by_date.transform("mean")) / by_date.transform("std")).to_numpy()


def qlib_lightgbm(panel: Panel) -> np.ndarray:
    """Forecasts are z-scores. Its handler Alpha158 leaves features as they are."""
    x, day = panel.x[panel.learn], panel.date[panel.learn]
    y = z_scores_by_date(panel.y[panel.learn], day)
    dates = np.unique(day)
    validates = day >= dates[round(len(dates) * (1 - QLIB_VALIDATION))]
    train, validation = (lightgbm.Dataset(x[part], y[part]) for part in (~validates, validates))
    stopping = lightgbm.early_stopping(QLIB_STOPPING, verbose=False)
    model = lightgbm.train(QLIB, train, QLIB_ROUNDS, valid_sets=[validation], callbacks=[stopping])
    return model.predict(panel.x[panel.score])


def mlforecast_lightgbm(panel: Panel) -> np.ndarray:
    """One global model with lags of the return beside our features.

    Without delay, y of a date is the return to the next one, so its lag 1 is known at the close of the date.
    """
    known = np.isfinite(panel.y) | panel.score
    # Score rows without a label, the last of a ticker and those before a long gap, count as 0 in later lags.
    frame = pd.DataFrame(panel.x[known]).add_prefix("feature")
    frame.insert(0, "y", np.nan_to_num(panel.y[known]))
    frame.insert(0, "ds", panel.date[known])
    frame.insert(0, "unique_id", panel.ticker[known])
    frame["learn"] = panel.learn[known]
    frame["score"] = panel.score[known]
    lags = [1 + panel.delay + lag for lag in range(MLFORECAST_LAGS)]
    model = MLForecast(models={"lightgbm": lightgbm.LGBMRegressor(**DEFAULTS)}, freq=1, lags=lags)
    prepared = model.preprocess(frame, static_features=[], dropna=False)
    x = prepared.drop(columns=["unique_id", "ds", "y", "learn", "score"])
    model.fit_models(x[prepared["learn"]], prepared.loc[prepared["learn"], "y"].to_numpy())
    scored = prepared[prepared["score"]].assign(predicted=model.models_["lightgbm"].predict(x[prepared["score"]]))
    return scored.sort_values(["ds", "unique_id"])["predicted"].to_numpy()


class Candidate(RegressorMixin, BaseEstimator):
    """One of the candidates of the rows `choice-*`, on the features as they are."""

    NAMES = ("pooled-lightgbm", "pooled-ridge", "lasso", "elastic_net")

    def __init__(self, name: str = NAMES[0]):
        self.name = name

    def fit(self, x, y):
        linear = {
            "pooled-ridge": Ridge(alpha=1000),
            "lasso": Lasso(alpha=0.001),
            "elastic_net": ElasticNet(alpha=0.002, l1_ratio=0.5),
        }
        if self.name in linear:
            self.model_ = make_pipeline(StandardScaler(), linear[self.name])
        else:
            self.model_ = lightgbm.LGBMRegressor(**REGULARISED, **DEFAULTS)
        self.model_.fit(x, y)
        return self

    def predict(self, x):
        return self.model_.predict(x)


def constant(dates):
    """A feature that mlforecast asks for, since a configuration needs lags, lag transforms or features of dates."""
    return np.zeros(len(dates))


def automlforecast(panel: Panel) -> np.ndarray:
    """The candidate with the smallest squared error in 10 windows of 63 dates, like the folds of the rows `choice-*`, which mlforecast finds."""
    frame = pd.DataFrame(panel.x[panel.learn]).add_prefix("feature")
    frame.insert(0, "y", panel.y[panel.learn])
    frame.insert(0, "ds", panel.date[panel.learn])
    frame.insert(0, "unique_id", panel.ticker[panel.learn])
    auto = AutoMLForecast(
        models={
            "candidate": AutoModel(
                Candidate(), lambda trial: {"name": trial.suggest_categorical("name", Candidate.NAMES)}
            )
        },
        freq=1,
        init_config=lambda _: {"date_features": [constant]},
        fit_config=lambda _: {"static_features": []},
    )
    auto.fit(
        frame,
        n_windows=10,
        h=63,
        refit=True,
        num_samples=len(Candidate.NAMES),
        loss=lambda df, train_df: float(((df["y"] - df["model"]) ** 2).mean()),
        study_kwargs={"sampler": optuna.samplers.GridSampler({"name": Candidate.NAMES})},
    )
    study = auto.results_["candidate"]
    zero = float((frame.loc[frame["ds"] > frame["ds"].max() - 10 * 63, "y"] ** 2).mean())
    print(f"automlforecast: {study.best_params['name']}, R² {1 - study.best_value / zero:.5f}", file=sys.stderr)
    best = Candidate(**study.best_params).fit(panel.x[panel.learn], panel.y[panel.learn])
    return best.predict(panel.x[panel.score])


def sklearn_mlp(panel: Panel) -> np.ndarray:
    """Features and returns are standardised: an untrained network forecasts far more than returns of 0.02."""
    network = make_pipeline(StandardScaler(), MLPRegressor(early_stopping=True, random_state=SEED))
    model = TransformedTargetRegressor(network, transformer=StandardScaler())
    model.fit(panel.x[panel.learn], panel.y[panel.learn])
    return model.predict(panel.x[panel.score])


PEERS: dict[str, Callable[[Panel], np.ndarray]] = {
    "plain-lightgbm": plain_lightgbm,
    "plain-lightgbm-regularised": lambda panel: plain_lightgbm(panel, **REGULARISED),
    "qlib-lightgbm": qlib_lightgbm,
    "mlforecast-lightgbm": mlforecast_lightgbm,
    "automlforecast": automlforecast,
    "sklearn-mlp": sklearn_mlp,
}


if __name__ == "__main__":
    peer, folder, out = sys.argv[1:]
    write_forecasts(PEERS[peer], folder, out)
