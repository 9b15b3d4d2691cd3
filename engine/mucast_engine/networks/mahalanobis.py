"""The loss across tickers: e' S^-1 e / n of each date, so that what moves together counts less."""

from collections import OrderedDict

import numpy as np
import torch
from torch import Tensor

from mucast_engine.arrays import Matrix
from mucast_engine.networks.losses import Labels

# Numbers in the inverses held at a time, 256 MiB; dates share the few sets of tickers that there are.
CACHED = 1 << 26


class MahalanobisLoss:
    """A mean over dates; a date on which tickers have no label uses the block of S of those that have one."""

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

    NaN, where a ticker has no label, counts as the ticker's mean. Ledoit, Wolf 2004, by scikit-learn.
    """
    from sklearn.covariance import ledoit_wolf

    centred = np.nan_to_num(labels - np.nanmean(labels, axis=0), nan=0.0)
    covariance, _ = ledoit_wolf(centred, assume_centered=True)
    deviation = np.sqrt(np.diag(covariance))
    correlation: Matrix = covariance / np.outer(deviation, deviation)
    np.fill_diagonal(correlation, 1.0)
    return correlation
