"""Feature scalers, with scikit-learn's definitions and two repairs, so that nothing is divided by a spread of 0."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mucast_engine.arrays import Matrix
from mucast_engine.failure import TaskError

# Scaled features are clipped to this: a network squares them, and float32 ends at 3e38. An absurd value then affects
# only the forecasts of its own windows, and not those that are computed beside them.
MAX_SCALED = 1e12
# Numbers around 1 that are this close are equal up to rounding, as in scikit-learn's scalers.
ROUNDING = 10 * float(np.finfo(np.float64).eps)


class Scaling(NamedTuple):
    """Scaled features are (x - center) / spread; shape (k) each."""

    center: Matrix
    spread: Matrix


def fit_scaling(scaler: str, x: Matrix, z_scores: int = 0) -> Scaling:
    """`x` (rows, k): the rows to learn from, at least one. A feature that is constant there becomes 0.

    The last `z_scores` columns stay unchanged: they compare the tickers of a date, and scaling by ticker would remove
    the lasting differences between tickers.
    """
    center, spread = SCALERS[scaler](x)
    constant = x.max(axis=0) == x.min(axis=0)
    usable = np.isfinite(spread) & (spread > 0) & ~constant
    # An infinite spread scales every finite value to 0, even values that differ later.
    scaling = Scaling(np.where(usable, center, 0.0), np.where(usable, spread, np.inf))
    first = x.shape[1] - z_scores
    scaling.center[first:], scaling.spread[first:] = 0.0, 1.0
    return scaling


def scaled(x: Matrix, scaling: Scaling) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Shape (rows, k), float32, within MAX_SCALED."""
    with np.errstate(over="ignore"):
        return np.clip((x - scaling.center) / scaling.spread, -MAX_SCALED, MAX_SCALED).astype(np.float32)


def _standard(x: Matrix) -> tuple[Matrix, Matrix]:
    return x.mean(axis=0), x.std(axis=0)


def _minmax(x: Matrix) -> tuple[Matrix, Matrix]:
    low = x.min(axis=0)
    return low, x.max(axis=0) - low


def _robust(x: Matrix) -> tuple[Matrix, Matrix]:
    first, median, third = np.quantile(x, [0.25, 0.5, 0.75], axis=0)
    quartiles = third - first
    apart = quartiles > ROUNDING * np.maximum(1.0, np.maximum(np.abs(first), np.abs(third)))
    return median, np.where(apart, quartiles, x.std(axis=0))


def _maxabs(x: Matrix) -> tuple[Matrix, Matrix]:
    return np.zeros(x.shape[1]), np.abs(x).max(axis=0)


SCALERS: dict[str, Callable[[Matrix], tuple[Matrix, Matrix]]] = {
    "standard": _standard,
    "minmax": _minmax,
    "robust": _robust,
    "maxabs": _maxabs,
}


def target_scale(labels: Matrix) -> float:
    """Standard deviation (ddof 0) of the labels to learn from.

    Raises TaskError `constant_target` if that is 0 or only rounding.
    """
    deviation = float(labels.std())
    if not np.isfinite(deviation) or labels.max() - labels.min() <= ROUNDING:
        raise TaskError("constant_target", f"every label to learn from is {labels[0]}: there is nothing to learn")
    return deviation
