"""Refits one model through the score rows with a library's own backtest and writes its forecasts.

Usage: refits.py mlforecast|skforecast SETTINGS PANEL_FOLDER OUT_FILE

SETTINGS is a JSON object: `model` (ridge or lightgbm), its `model_params`, `scaler` (standard or none), `every`, the
number of dates that one fit forecasts (absent for one fit at the cut), and `window`, the number of last dates that a
fit learns from (absent for all).

Both libraries forecast a block of dates from one fit on the dates before it, so a block's fit learns from the same
rows as mucast's. The exception is a label that is known late, after a gap in a ticker's prices: the libraries cut by
the date of the row, and mucast by the date of the label.
"""

import json
import sys
import warnings
from dataclasses import dataclass
from functools import partial

import lightgbm
import numpy as np
import pandas as pd
from mlforecast import MLForecast
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skforecast.model_selection import TimeSeriesFold, backtesting_forecaster_multiseries
from skforecast.recursive import ForecasterRecursiveMultiSeries

from forecast_file import THREADS, write_forecasts
from panel import Panel


# mucast excludes tickers with fewer at the cut.
MIN_FIT_ROWS = 30


class PanelRegressor(RegressorMixin, BaseEstimator):
    """A regressor that learns only from the rows of the panel and from our features.

    Both libraries require every series on every date, and skforecast requires a lag. So the first columns are the
    library's, which are dropped, and the next one says whether the row is a training row of the panel.
    """

    def __init__(self, regressor: BaseEstimator, dropped: int = 0) -> None:
        self.regressor = regressor
        self.dropped = dropped

    def fit(self, X: pd.DataFrame | np.ndarray, y: pd.Series | np.ndarray) -> "PanelRegressor":  # noqa: N803 (scikit-learn's name)
        values = np.asarray(X, float)[:, self.dropped :]
        known = values[:, 0] == 1
        self.fitted_ = clone(self.regressor).fit(values[known, 1:], np.asarray(y, float)[known])
        return self

    def predict(self, X: pd.DataFrame | np.ndarray) -> np.ndarray:  # noqa: N803 (scikit-learn's name)
        return self.fitted_.predict(np.asarray(X, float)[:, self.dropped + 1 :])


@dataclass(frozen=True)
class Grid:
    """Every ticker on every date of the panel, and on at least one date before the first.

    skforecast drops the first date of a fit, for its lag. If a window reaches back before the panel, so does the grid.
    """

    exog: np.ndarray  # shape (tickers, dates, 1 + features): whether it is a training row, and its features, 0 without a row
    y: np.ndarray  # shape (tickers, dates): 0 if there is no label
    first_score: int  # position of the first date to forecast
    score_dates: int


def grid_of(panel: Panel, window: int) -> Grid:
    learned = int(panel.date[panel.score].min() - panel.date.min())
    first_score = 1 + max(learned, window)
    place = panel.date - panel.date.min() + first_score - learned
    shape = (len(panel.tickers), int(place.max()) + 1)
    learned_rows = np.bincount(panel.ticker[panel.learn], minlength=len(panel.tickers))
    known = np.isfinite(panel.y) & (learned_rows[panel.ticker] >= MIN_FIT_ROWS)
    exog = np.zeros((*shape, 1 + panel.x.shape[1]))
    exog[panel.ticker, place] = np.column_stack([known, panel.x])
    y = np.zeros(shape)
    y[panel.ticker[known], place[known]] = panel.y[known]
    return Grid(exog, y, first_score, shape[1] - first_score)


def regressor_of(settings: dict) -> BaseEstimator:
    params = settings["model_params"]
    if settings["model"] == "ridge":
        model = Ridge(**params)
    else:
        model = lightgbm.LGBMRegressor(**params, n_jobs=THREADS, verbose=-1)
    return make_pipeline(StandardScaler(), model) if settings["scaler"] == "standard" else model


def by_mlforecast(grid: Grid, settings: dict) -> np.ndarray:
    """Shape (tickers, score dates). Blocks end with the data, so the last one is padded with dates of zeros."""
    every = settings.get("every", grid.score_dates)
    blocks = -(-grid.score_dates // every)
    padding = blocks * every - grid.score_dates
    exog = np.pad(grid.exog, ((0, 0), (0, padding), (0, 0)))
    tickers, dates, columns = exog.shape
    frame = pd.DataFrame(exog.reshape(-1, columns)).add_prefix("feature")
    frame.insert(0, "y", np.pad(grid.y, ((0, 0), (0, padding))).ravel())
    frame.insert(0, "ds", np.tile(np.arange(dates), tickers))
    frame.insert(0, "unique_id", np.repeat(np.arange(tickers), dates))
    forecaster = MLForecast(models={"forecast": PanelRegressor(regressor_of(settings))}, freq=1)
    forecasts = forecaster.cross_validation(
        frame,
        n_windows=blocks,
        h=every,
        refit=True,
        input_size=settings.get("window"),
        static_features=[],
    )
    predicted = forecasts.sort_values(["unique_id", "ds"])["forecast"].to_numpy()
    return predicted.reshape(tickers, -1)[:, : grid.score_dates]


def by_skforecast(grid: Grid, settings: dict) -> np.ndarray:
    """Shape (tickers, score dates). The forecaster of many series needs a lag, which costs each fit one more date."""
    window = settings.get("window", grid.first_score - 1)
    start = grid.first_score - window - 1
    index = pd.RangeIndex(grid.y.shape[1] - start)
    columns = [f"feature{i}" for i in range(grid.exog.shape[2])]
    names = [f"{number:06d}" for number in range(len(grid.y))]
    series = {name: pd.Series(y[start:], index, name=name) for name, y in zip(names, grid.y, strict=True)}
    exog = {name: pd.DataFrame(x[start:], index, columns) for name, x in zip(names, grid.exog, strict=True)}
    forecaster = ForecasterRecursiveMultiSeries(
        PanelRegressor(regressor_of(settings), dropped=1), lags=1, encoding=None, transformer_series=None
    )
    folds = TimeSeriesFold(
        steps=settings.get("every", grid.score_dates),
        initial_train_size=window + 1,
        refit="every" in settings,
        fixed_train_size="window" in settings,
        verbose=False,
    )
    _, forecasts = backtesting_forecaster_multiseries(
        forecaster,
        series,
        cv=folds,
        metric="mean_squared_error",
        exog=exog,
        n_jobs=1,
        show_progress=False,
        suppress_warnings=True,
    )
    table = forecasts.reset_index().pivot(index="level", columns="index", values="pred")
    return table.loc[names].to_numpy()


LIBRARIES = {"mlforecast": by_mlforecast, "skforecast": by_skforecast}


def refits(panel: Panel, library: str, settings: dict) -> np.ndarray:
    """Shape (score rows)."""
    grid = grid_of(panel, settings.get("window", 0))
    predicted = LIBRARIES[library](grid, settings)
    dates = panel.date[panel.score]
    return predicted[panel.ticker[panel.score], dates - dates.min()]


if __name__ == "__main__":
    library, settings, folder, out = sys.argv[1:]
    # Both libraries warn about features without names and about many fits.
    warnings.simplefilter("ignore")
    write_forecasts(partial(refits, library=library, settings=json.loads(settings)), folder, out)
