"""Why a regressor predicts one constant: the figures that show a user which parameter to lower."""

from typing import Any

import numpy as np

from mucast_engine.arrays import Matrix, Message


def describe_constant(spec: dict[str, Any], x: Matrix, y: Matrix, predicted: Matrix) -> Message | None:
    """None unless `predicted` has at least two rows and a single value.

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
        described["min_child_samples"] = _min_child_samples(spec["params"])
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


def _min_child_samples(params: dict[str, Any]) -> int:
    from lightgbm.basic import _ConfigAliases

    given = _ConfigAliases.get("min_data_in_leaf") & params.keys()
    value = params[given.pop()] if given else None
    return 20 if value is None else int(value)
