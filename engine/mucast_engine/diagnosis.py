"""What a fit tells besides its predictions: the weight of each feature, and why it predicts one constant."""

from typing import Any, NamedTuple

import numpy as np

from mucast_engine.arrays import Matrix, Message

# The maximum number of features that an output names per ticker.
MAX_IMPORTANCES = 50

# Values that differ by at most this share of the largest are constant; terms of at most this share of the labels are
# zero.
ROUNDING = 2e-15

# The number of rows that show most columns to vary: a pass over all rows takes a tenth of the time of a linear fit.
SAMPLED_ROWS = 64


class Columns(NamedTuple):
    """Facts about each column of a regressor's training rows, shape (k)."""

    is_constant: Any
    sizes: Any
    """The largest absolute value of a constant column; 0 of others."""


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
    are of the training rows as the regressor saw them.
    """
    try:
        values = np.mean([np.asarray(_importances(model), dtype=np.float64) for model in models], axis=0)
    except Exception:
        # A library may have none for some of its arguments, and each library then raises another exception.
        return None
    if values.shape != columns.is_constant.shape or not np.isfinite(values).all():
        return None
    # A linear model that centres a constant column leaves a coefficient of rounding on it.
    with np.errstate(over="ignore"):
        is_rounding = columns.is_constant & (np.abs(values) * columns.sizes <= ROUNDING * np.abs(y).max())
    values = np.where(is_rounding, 0.0, values)
    largest = np.argsort(-np.abs(values), kind="stable")[:MAX_IMPORTANCES]
    return [(int(column), float(values[column])) for column in largest]


def _importances(model: Any) -> Any:
    return model.feature_importances_ if hasattr(type(model), "feature_importances_") else model.coef_


def describe_constant(spec: dict[str, Any], x: Matrix, y: Matrix, predicted: Matrix) -> Message | None:
    """Figures that show a user which parameter to lower; None unless `predicted` has two rows and a single value.

    `x` (n, k) and `y` (n) are the training rows as the regressor saw them, so after the scaler. The description has
    `value` and `train_rows`; for lasso and elastic net `largest_alpha`, below which a coefficient differs from zero
    (None if no alpha keeps one); for lightgbm `min_child_samples`.
    """
    if len(predicted) < 2 or predicted.max() != predicted.min():
        return None
    described: Message = {"value": float(predicted[0]), "train_rows": len(y)}
    if spec["class"] in ("Lasso", "ElasticNet"):
        described["largest_alpha"] = largest_alpha(spec, x, y)
    if spec["class"] == "LGBMRegressor":
        from lightgbm.basic import _ConfigAliases

        names = _ConfigAliases.get("min_data_in_leaf") & spec["params"].keys()
        value = spec["params"][names.pop()] if names else None
        described["min_child_samples"] = 20 if value is None else int(value)
    return described


def largest_alpha(spec: dict[str, Any], x: Matrix, y: Matrix) -> float | None:
    """The alpha from which on every coefficient of a lasso or elastic net is zero.

    From the optimality condition of 1/(2n) ||y - Xw||^2 + alpha l1_ratio ||w||_1 + ... at w = 0: |X'y| / n must not
    exceed alpha l1_ratio (Friedman, Hastie, Tibshirani 2010, section 2.5); with `positive`, only X'y > 0 counts.
    """
    params = spec["params"]
    if params.get("fit_intercept", True):
        x, y = x - x.mean(axis=0), y - y.mean()
    gradient = x.T @ y / len(y)
    steepest = float(np.max(gradient if params.get("positive", False) else np.abs(gradient)))
    l1_ratio = 1.0 if spec["class"] == "Lasso" else float(params.get("l1_ratio", 0.5))
    return steepest / l1_ratio if steepest > 0 and l1_ratio > 0 else None
