"""How much each feature weighs in a fitted regressor, by its library's own measure."""

from typing import Any, NamedTuple

import numpy as np

from mucast_engine.arrays import Matrix

# The maximum number of features that an output names per ticker.
MAX_IMPORTANCES = 50

# Values that differ by at most this share of the largest are constant; terms of at most this share of the labels are
# zero.
ROUNDING = 2e-15


class Columns(NamedTuple):
    """Facts about each column of a regressor's training rows, shape (k)."""

    is_constant: Any
    sizes: Any
    """The largest absolute value of a constant column; 0 of others."""


# The number of rows that show most columns to vary: a pass over all rows takes a tenth of the time of a linear fit.
SAMPLED_ROWS = 64


def columns_of(x: Matrix) -> Columns:
    """From `x` (n, k), without copying it, because it may take most of the memory of the job."""
    sample = x[:: max(1, len(x) // SAMPLED_ROWS)]
    least, most = sample.min(axis=0), sample.max(axis=0)
    # A column that is constant over all rows is also constant over these, with a possibly smaller largest value.
    may_be_constant = most - least <= 2 * ROUNDING * np.maximum(np.abs(least), np.abs(most))
    sizes, is_constant = np.zeros(x.shape[1]), np.zeros(x.shape[1], dtype=bool)
    for column in np.flatnonzero(may_be_constant):
        least, most = x[:, column].min(), x[:, column].max()
        sizes[column] = max(abs(least), abs(most))
        is_constant[column] = most - least <= ROUNDING * sizes[column]
    return Columns(is_constant, sizes)


def largest_importances(models: list[Any], columns: Columns, y: Matrix) -> list[tuple[int, float]] | None:
    """At most MAX_IMPORTANCES pairs (column, importance), the largest absolute value first; equal ones by column.

    An importance is the mean over the models of `feature_importances_`, or of `coef_` for linear models, whose features
    have passed the scaler. None if the library has none for this model, or one is not finite. `columns` and `y` (n)
    are of the training rows as the regressor saw them. A linear model that centres a constant column leaves a
    coefficient of rounding on it; its importance is 0.
    """
    try:
        values = np.mean([np.asarray(_importances(model), dtype=np.float64) for model in models], axis=0)
    except Exception:
        # A library may have none for some of its arguments, and each library then raises another exception.
        return None
    if values.shape != columns.is_constant.shape or not np.isfinite(values).all():
        return None
    values = np.where(_is_rounding(values, columns, y), 0.0, values)
    largest = np.argsort(-np.abs(values), kind="stable")[:MAX_IMPORTANCES]
    return [(int(column), float(values[column])) for column in largest]


def _is_rounding(values: Matrix, columns: Columns, y: Matrix) -> Any:
    """Shape (k): whether a column is constant and its term, coefficient times value, is negligible compared with the
    labels."""
    with np.errstate(over="ignore"):
        return columns.is_constant & (np.abs(values) * columns.sizes <= ROUNDING * np.abs(y).max())


def _importances(model: Any) -> Any:
    return model.feature_importances_ if hasattr(type(model), "feature_importances_") else model.coef_
