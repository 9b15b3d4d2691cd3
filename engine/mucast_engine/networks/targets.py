"""From log-returns to scaled targets, and back."""

import numpy as np

from mucast_engine.arrays import Matrix
from mucast_engine.failure import TaskError
from mucast_engine.networks.scaling import ROUNDING
from mucast_engine.networks.training import ADVICE


def target_scale(labels: Matrix) -> float:
    """Standard deviation (ddof 0) of the labels to learn from.

    Raises TaskError `constant_target` where that is 0, or rounding alone.
    """
    deviation = float(labels.std())
    if not np.isfinite(deviation) or labels.max() - labels.min() <= ROUNDING:
        raise TaskError("constant_target", f"every label to learn from is {labels[0]}: there is nothing to learn")
    return deviation


def finite(predictions: Matrix) -> Matrix:
    """Raises TaskError `diverged` where a forecast cannot be used."""
    if not np.isfinite(predictions).all():
        raise TaskError("diverged", f"some forecasts are not finite; {ADVICE}")
    return predictions
