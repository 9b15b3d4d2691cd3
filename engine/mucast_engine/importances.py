"""How much each feature weighs in a fitted regressor, by the measure of its own library."""

from typing import Any

import numpy as np

# An output names no more features of a ticker.
MOST = 50


def largest_importances(model: Any, width: int) -> list[tuple[int, float]] | None:
    """At most MOST pairs (column, importance), the largest absolute value first, of equals the first column.

    Importances are the model's `feature_importances_`, else its `coef_`: that of linear models, on the features as the
    regressor saw them, so after the scaler. None where the library has none for this model, or one is not finite.
    `width` is the number of columns.
    """
    try:
        values = np.asarray(_importances(model), dtype=np.float64)
    except Exception:
        # A library may have none for some of its arguments; what it then raises differs from library to library.
        return None
    if values.shape != (width,) or not np.isfinite(values).all():
        return None
    largest = np.argsort(-np.abs(values), kind="stable")[:MOST]
    return [(int(column), float(values[column])) for column in largest]


def _importances(model: Any) -> Any:
    return model.feature_importances_ if hasattr(type(model), "feature_importances_") else model.coef_
