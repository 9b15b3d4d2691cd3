"""The information coefficient of forecasts: how well they rank the tickers of a date."""

import numpy as np
from torch import Tensor

from mucast_engine.arrays import Matrix
from mucast_engine.failure import TaskError
from mucast_engine.networks.losses import Labels

# Fewer tickers say too little about the order of a date.
MIN_TICKERS = 5
# Values whose deviation is at most this share of the largest are equal up to rounding.
ROUNDING = 1e-6


def mean_ic(predictions: Tensor, labels: Labels, scales: Matrix) -> float:
    """The mean over dates of the correlation between forecasts and labels across tickers.

    `predictions` (dates, tickers) and `labels` are scaled; `scales` (tickers) reverses that, because scaling by ticker
    changes the order of a date. Dates with fewer than MIN_TICKERS labels do not count; at least one date must count. A
    date on which all forecasts or all labels are equal has a correlation of 0.
    """
    forecasts = predictions.double().cpu().numpy() * scales
    targets = labels.values.double().cpu().numpy() * scales
    known = labels.known.cpu().numpy() > 0
    judged = np.flatnonzero(known.sum(axis=1) >= MIN_TICKERS)
    return float(np.mean([_correlation(forecasts[date][known[date]], targets[date][known[date]]) for date in judged]))


def require_comparable(known: Tensor) -> None:
    """Raises TaskError `insufficient_history` unless a date has MIN_TICKERS labels. `known` (dates, tickers)."""
    if not (known.sum(1) >= MIN_TICKERS).any():
        raise TaskError(
            "insufficient_history",
            f"training_params.monitor is ic, and no date of the validation part has {MIN_TICKERS} tickers with a "
            "label: set monitor to loss, or add tickers",
        )


def _correlation(p: Matrix, y: Matrix) -> float:
    deviations = [values - values.mean() for values in (p, y)]
    sizes = [float(np.sqrt(deviation @ deviation)) for deviation in deviations]
    for values, size in zip((p, y), sizes, strict=True):
        if size <= ROUNDING * np.sqrt(len(values)) * float(np.abs(values).max()):
            return 0.0
    return float(deviations[0] @ deviations[1] / (sizes[0] * sizes[1]))
