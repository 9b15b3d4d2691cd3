"""The losses, on scaled returns. Each is a sum over labelled cells divided by a number that depends only on the labels.

So a batch can be processed in pieces, in any number of threads, and its loss is the sum of theirs.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mucast_engine.arrays import Matrix

LossName = Literal["mse", "mae", "huber", "r2", "directional", "mahalanobis"]

HUBER_DELTA = 1.0
GMADL_SLOPE = 10.0
# r2 divides by at least this per label, so that a batch of nearly equal labels does not explode.
MIN_VARIANCE = 0.1
# Maximum size of the inverses in memory, 256 MiB; dates share the few distinct sets of tickers.
CACHED = 1 << 26

# Losses that do not determine the size of predictions, so that `prediction_scale` has to.
SCALE_IS_OPEN: frozenset[LossName] = frozenset({"directional"})


class Labels(NamedTuple):
    """Labels of a batch, (n) windows or (dates, tickers) cells."""

    values: Tensor
    """Scaled returns; 0 if there is no label."""
    known: Tensor
    """1 for a label and 0 elsewhere, with the values' dtype."""


class Loss(ABC):
    @abstractmethod
    def denominator(self, labels: Labels) -> Tensor:
        """The divisor of the sum, at least one label; a scalar of the whole batch."""

    @abstractmethod
    def total(self, predictions: Tensor, labels: Labels) -> Tensor:
        """The sum over the given samples, the whole batch or a piece of it; a scalar."""

    def mean(self, predictions: Tensor, labels: Labels) -> Tensor:
        return self.total(predictions, labels) / self.denominator(labels)


def make_loss(name: LossName, mean: Tensor) -> Loss:
    """A loss that treats each cell by itself. `mean` of the scaled training labels: a scalar or (tickers).

    mahalanobis is mse here, because the correlation of a single ticker is 1. Across tickers it is MahalanobisLoss.
    """
    return R2Loss(mean) if name == "r2" else CellLoss(TERMS[name])


class CellLoss(Loss):
    """The mean of `term`, of prediction and label, over all labels."""

    def __init__(self, term: Callable[[Tensor, Tensor], Tensor]) -> None:
        self._term = term

    def denominator(self, labels: Labels) -> Tensor:
        return labels.known.sum()

    def total(self, predictions: Tensor, labels: Labels) -> Tensor:
        return (self._term(predictions, labels.values) * labels.known).sum()


def _squared(p: Tensor, y: Tensor) -> Tensor:
    return (p - y).square()


def _directional(p: Tensor, y: Tensor) -> Tensor:
    """Generalised mean absolute directional loss with a = 10 and b = 1 (Stefaniuk, Ślepaczuk, arXiv 2412.18405)."""
    return -(torch.sigmoid(GMADL_SLOPE * y * p) - 0.5) * y.abs()


TERMS: dict[LossName, Callable[[Tensor, Tensor], Tensor]] = {
    "mse": _squared,
    "mae": lambda p, y: (p - y).abs(),
    "huber": lambda p, y: functional.huber_loss(p, y, reduction="none", delta=HUBER_DELTA),
    "directional": _directional,
    "mahalanobis": _squared,
}


class R2Loss(Loss):
    """SSE / max(sum of (y - mean)^2, 0.1 n): 1 - R2 against the `mean` of the training labels, one per ticker."""

    def __init__(self, mean: Tensor) -> None:
        self._mean = mean

    def denominator(self, labels: Labels) -> Tensor:
        spread = (labels.values - self._mean).square().mul(labels.known).sum()
        return torch.maximum(spread, MIN_VARIANCE * labels.known.sum())

    def total(self, predictions: Tensor, labels: Labels) -> Tensor:
        return (_squared(predictions, labels.values) * labels.known).sum()


class MahalanobisLoss(Loss):
    """The loss across tickers: the mean over dates of e' S^-1 e / n, so that tickers that move together count less.

    S is the correlation of labels; a date on which some tickers have no label uses the block of the others.
    """

    def __init__(self, correlation: Matrix, device: torch.device) -> None:
        self._correlation = correlation
        self._device = device
        self._inverses: OrderedDict[bytes, Tensor] = OrderedDict()

    def denominator(self, labels: Labels) -> Tensor:
        return (labels.known.sum(1) > 0).to(labels.known.dtype).sum()

    def total(self, predictions: Tensor, labels: Labels) -> Tensor:
        errors = (predictions - labels.values) * labels.known
        patterns = labels.known.bool().cpu().numpy()
        kinds: dict[bytes, list[int]] = {}
        for date, pattern in enumerate(patterns):
            if pattern.any():
                kinds.setdefault(pattern.tobytes(), []).append(date)
        total = errors.new_zeros(())
        for key, dates in kinds.items():
            known = np.flatnonzero(patterns[dates[0]])
            block = errors[dates][:, torch.from_numpy(known).to(errors.device)]
            total = total + ((block @ self._inverse(key, known)) * block).sum() / len(known)
        return total

    def _inverse(self, key: bytes, known: np.ndarray) -> Tensor:
        inverse = self._inverses.pop(key, None)
        if inverse is None:
            block = self._correlation[np.ix_(known, known)]
            inverse = torch.from_numpy(np.linalg.inv(block).astype(np.float32)).to(self._device)
        self._inverses[key] = inverse
        if len(self._inverses) > max(1, CACHED // len(self._correlation) ** 2):
            self._inverses.popitem(last=False)
        return inverse


def label_correlation(labels: Matrix) -> Matrix:
    """Shape (tickers, tickers): Ledoit-Wolf covariance of scaled training labels (dates, tickers), to unit diagonal.

    NaN, if a ticker has no label, counts as the ticker's mean. Ledoit, Wolf 2004, by scikit-learn.
    """
    from sklearn.covariance import ledoit_wolf

    centred = np.nan_to_num(labels - np.nanmean(labels, axis=0), nan=0.0)
    covariance, _ = ledoit_wolf(centred, assume_centered=True)
    deviation = np.sqrt(np.diag(covariance))
    correlation: Matrix = covariance / np.outer(deviation, deviation)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def prediction_scale(predictions: Tensor, labels: Labels) -> float:
    """The scale of predictions whose loss does not determine it: max(0, min(1, b - se)).

    b is the least-squares scale and se its standard error, robust to changing volatility (White 1980).
    """
    p, y = (predictions * labels.known).double(), labels.values.double()
    size = p.square().sum()
    if not size > 0:
        return 0.0
    b = (p * y).sum() / size
    error = (p * (y - b * p)).square().sum().sqrt() / size
    return max(0.0, min(1.0, float(b - error)))
