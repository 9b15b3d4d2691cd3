"""How much each feature weighs in a fitted regressor, by the measure of its own library."""

from typing import Any, NamedTuple

import numpy as np

from mucast_engine.arrays import Matrix

# An output names no more features of a ticker.
MAX_IMPORTANCES = 50

# Values that differ by no more, against the largest, are constant; terms no larger, against labels, are nothing.
ROUNDING = 2e-15


class Columns(NamedTuple):
    """What the training rows of a regressor show of each column, shape (k)."""

    sizes: Any
    """The largest absolute value."""
    is_constant: Any


def columns_of(x: Matrix) -> Columns:
    """Of `x` (n, k), without a copy of it: it may take most of the memory of the job."""
    least, most = x.min(axis=0), x.max(axis=0)
    sizes = np.maximum(np.abs(least), np.abs(most))
    return Columns(sizes, most - least <= ROUNDING * sizes)


def largest_importances(model: Any, columns: Columns, y: Matrix) -> list[tuple[int, float]] | None:
    """At most MAX_IMPORTANCES pairs (column, importance), the largest absolute value first, of equals the first column.

    Importances are the model's `feature_importances_`, else its `coef_`: that of linear models, on the features as the
    regressor saw them, so after the scaler. None where the library has none for this model, or one is not finite.
    `columns` and `y` (n) are of the training rows as the regressor saw them. A linear model that centres a constant
    column leaves a coefficient of rounding on it; its importance is 0.
    """
    try:
        values = np.asarray(_importances(model), dtype=np.float64)
    except Exception:
        # A library may have none for some of its arguments; what it then raises differs from library to library.
        return None
    if values.shape != columns.sizes.shape or not np.isfinite(values).all():
        return None
    values = np.where(_is_rounding(values, columns, y), 0.0, values)
    largest = np.argsort(-np.abs(values), kind="stable")[:MAX_IMPORTANCES]
    return [(int(column), float(values[column])) for column in largest]


def _is_rounding(values: Matrix, columns: Columns, y: Matrix) -> Any:
    """Shape (k): whether a column is constant and its term, coefficient times value, is nothing beside the labels."""
    with np.errstate(over="ignore"):
        return columns.is_constant & (np.abs(values) * columns.sizes <= ROUNDING * np.abs(y).max())


def _importances(model: Any) -> Any:
    return model.feature_importances_ if hasattr(type(model), "feature_importances_") else model.coef_
