"""The losses in plain loops over float64 numbers; a label that is missing is NaN."""

import math
from collections.abc import Callable

import numpy as np
from sklearn.covariance import LedoitWolf

from mucast_engine.arrays import Matrix

Cells = list[tuple[float, float, int]]


def cells(p: Matrix, y: Matrix) -> Cells:
    """(prediction, label, ticker) of every existing label; `p` and `y` are (n) or (dates, tickers)."""
    places = [place for place in np.ndindex(*y.shape) if not math.isnan(y[place])]
    return [(float(p[place]), float(y[place]), place[-1] if y.ndim == 2 else 0) for place in places]


def mse(p: Matrix, y: Matrix) -> float:
    terms = [(label - prediction) ** 2 for prediction, label, _ in cells(p, y)]
    return sum(terms) / len(terms)


def mae(p: Matrix, y: Matrix) -> float:
    terms = [abs(label - prediction) for prediction, label, _ in cells(p, y)]
    return sum(terms) / len(terms)


def huber(p: Matrix, y: Matrix) -> float:
    total = 0.0
    for prediction, label, _ in cells(p, y):
        error = abs(label - prediction)
        total += error**2 / 2 if error <= 1 else error - 1 / 2
    return total / len(cells(p, y))


def directional(p: Matrix, y: Matrix) -> float:
    total = 0.0
    for prediction, label, _ in cells(p, y):
        total -= (1 / (1 + math.exp(-10 * label * prediction)) - 1 / 2) * abs(label)
    return total / len(cells(p, y))


def r2(p: Matrix, y: Matrix, means: list[float]) -> float:
    """`means` of the training labels, one per ticker."""
    wrong = spread = 0.0
    for prediction, label, ticker in cells(p, y):
        wrong += (label - prediction) ** 2
        spread += (label - means[ticker]) ** 2
    return wrong / max(spread, 0.1 * len(cells(p, y)))


def correlation(labels: Matrix) -> Matrix:
    """Ledoit-Wolf by scikit-learn on labels minus each ticker's mean, divided to a diagonal of 1."""
    centred = labels.copy()
    for ticker in range(labels.shape[1]):
        known = ~np.isnan(labels[:, ticker])
        centred[known, ticker] -= labels[known, ticker].mean()
        centred[~known, ticker] = 0.0
    s = LedoitWolf(assume_centered=True).fit(centred).covariance_
    return np.array([[s[i, j] / math.sqrt(s[i, i] * s[j, j]) for j in range(len(s))] for i in range(len(s))])


def mahalanobis(p: Matrix, y: Matrix, s: Matrix) -> float:
    """`s` (tickers, tickers); a mean over the dates that have a label."""
    dates = []
    for prediction, label in zip(p, y, strict=True):
        there = [ticker for ticker in range(len(label)) if not math.isnan(label[ticker])]
        if there:
            error = np.array([label[ticker] - prediction[ticker] for ticker in there])
            block = np.array([[s[i, j] for j in there] for i in there])
            dates.append(float(error @ np.linalg.solve(block, error)) / len(there))
    return sum(dates) / len(dates)


def scale(p: Matrix, y: Matrix) -> float:
    """The factor for predictions whose loss does not determine their size."""
    pairs = [(prediction, label) for prediction, label, _ in cells(p, y)]
    size = sum(prediction**2 for prediction, _ in pairs)
    b = sum(prediction * label for prediction, label in pairs) / size
    error = math.sqrt(sum((prediction * (label - b * prediction)) ** 2 for prediction, label in pairs)) / size
    return max(0.0, min(1.0, b - error))


def finite_differences(loss: Callable[[Matrix], float], p: Matrix, step: float = 1e-6) -> Matrix:
    """The gradient of `loss` at `p`, of its shape."""
    gradient = np.zeros_like(p)
    for place in np.ndindex(*p.shape):
        up, down = p.copy(), p.copy()
        up[place] += step
        down[place] -= step
        gradient[place] = (loss(up) - loss(down)) / (2 * step)
    return gradient
