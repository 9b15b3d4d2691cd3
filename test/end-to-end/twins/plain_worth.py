"""How good forecasts are, in a slow and obvious way: their slope and the factor that it supports, the t of a mean over
dates, and whether they are too large."""

import math
import statistics

import numpy as np
from scipy import stats

MIN_SCORE_ROWS = 20


def slope_of(pairs):
    """n, b, se and s over (realised, predicted) pairs of rows that a model did not learn from."""
    squares = math.fsum(p * p for _, p in pairs)
    if squares == 0:
        return {"n": len(pairs), "b": None, "se": None, "s": 0}
    b = math.fsum(y * p for y, p in pairs) / squares
    se = math.sqrt(math.fsum(p * p * (y - b * p) ** 2 for y, p in pairs)) / squares
    return {"n": len(pairs), "b": b, "se": se, "s": min(1, max(0, b - se))}


def newey_west_t(values, lag=5):
    """The t of a mean whose values correlate over time; None if there is none."""
    n = len(values)
    if n < 2 or max(values) == min(values):
        return None
    centre = math.fsum(values) / n
    variance = 0.0
    for i in range(n):
        for j in range(max(0, i - lag), min(n, i + lag + 1)):
            variance += (1 - abs(i - j) / (lag + 1)) * (values[i] - centre) * (values[j] - centre)
    return centre / math.sqrt(variance / n / n)


def by_day(rows):
    """Pairs (ticker, row) of each date, dates and tickers ascending."""
    days = {}
    for ticker in sorted(rows):
        for row in rows[ticker]:
            days.setdefault(row[0], []).append((ticker, row))
    return [days[day] for day in sorted(days)]


def error_of_mean(values):
    """Of values a date apart, by cosine sums with 8 terms, or Newey-West with lag 5 for fewer than 60; None if they are equal."""
    n = len(values)
    if n < 2 or max(values) == min(values):
        return None
    centre = math.fsum(values) / n
    if n < 60:
        # The t is the mean divided by its error. Shifted, the mean is not 0.
        shift = 1 + max(abs(value) for value in values)
        return (centre + shift) / newey_west_t([value + shift for value in values])
    squares = []
    for j in range(1, 9):
        waves = [math.cos(math.pi * j * (d + 0.5) / n) for d in range(n)]
        squares.append((math.sqrt(2 / n) * math.fsum(w * (x - centre) for w, x in zip(waves, values))) ** 2)
    return math.sqrt(math.fsum(squares) / 8 / n)


def expected_slope(b, se):
    """The mean of N(b, se²) times N(0.30, 0.25²) over [0, 1], by a sum over small steps; 0 if b is negative by more than chance."""
    if se is None or se < 1e-6:
        return min(1, max(0, b))
    if b + 1.86 * se < 0:
        return 0
    x = (np.arange(1_000_000) + 0.5) / 1_000_000
    log = -((x - b) ** 2) / (2 * se**2) - (x - 0.30) ** 2 / (2 * 0.25**2)
    weights = np.exp(log - log.max())
    return float(np.sum(weights * x) / np.sum(weights))


def date_slope(pairs):
    """The pooled slope with dates as units, over (day, realised, predicted, level) of each ticker."""
    scaled = {}
    for ticker, own in pairs.items():
        unit = math.sqrt(math.fsum(row[1] ** 2 for row in own) / len(own)) if own else 0
        scaled[ticker] = [
            (day, (y - level) / unit, (p - level) / unit) if unit > 0 else (day, 0, 0) for day, y, p, level in own
        ]
    n = sum(len(own) for own in pairs.values())
    dates = by_day(scaled)
    products = [math.fsum(row[1] * row[2] for _, row in date) for date in dates]
    squares = [math.fsum(row[2] ** 2 for _, row in date) for date in dates]
    if math.fsum(squares) == 0:
        return {"n": n, "b": None, "se": None, "s": 0}
    weight = math.fsum(squares) / len(dates)
    b = math.fsum(products) / len(dates) / weight
    error = error_of_mean([yp - b * pp for yp, pp in zip(products, squares)])
    se = None if error is None else error / weight
    return {"n": n, "b": b, "se": se, "s": 0 if len(dates) < 2 else expected_slope(b, se)}


def shrinkage_table(by_ticker):
    """Over (day, realised, predicted, level) of each ticker's held-out rows."""
    pairs = {ticker: [(y, p) for _, y, p, _ in rows] for ticker, rows in by_ticker.items()}
    return {
        "pooled": slope_of([pair for own in pairs.values() for pair in own]),
        "by_date": date_slope(by_ticker),
        "by_ticker": {ticker: slope_of(own) for ticker, own in pairs.items()},
    }


def t_of_mean(values):
    """The mean divided by its error; None without an error."""
    error = error_of_mean(values)
    return None if error is None else math.fsum(values) / len(values) / error


def method_of(n):
    return "ewc_8" if n >= 60 else "newey_west_5"


FIXED_B = {0.95: (1.6449, 2.1859, 0.3142, -0.3427), 0.975: (1.96, 2.9694, 0.416, -0.5324)}


def quantile_of_mean(n, probability):
    """The t that chance exceeds: Student's with 8 degrees of freedom, or for few dates that of Kiefer and Vogelsang (2005)."""
    if method_of(n) == "ewc_8":
        return float(stats.t.ppf(probability, 8))
    b = 6 / n
    return sum(coefficient * b**power for power, coefficient in enumerate(FIXED_B[probability]))


def is_wild(labels, pairs, score, mu):
    """The three reasons, one after the other; `mu` is None if there is none."""
    unit = statistics.pstdev(labels)
    slope = slope_of(pairs)["b"] or 0
    tested = statistics.pstdev(p for _, p in pairs) if pairs else None
    scored = statistics.pstdev(score) if score else None
    return (
        (tested is not None and tested > unit / 2 and slope < 0.5)
        or (
            len(score) >= MIN_SCORE_ROWS
            and tested is not None
            and scored > unit / 2
            and scored > 3 * tested
        )
        or (mu is not None and (abs(mu) > 2 * unit or (abs(mu) > unit and slope < 0.5)))
    )
