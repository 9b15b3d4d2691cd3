"""What forecasts are worth, the slow and obvious way: their slope, whether they are better than 0 and than the training mean, and whether they are too large."""

import math
import statistics

LEAST_SCORE_ROWS = 20
LEAST_DATES = 30
SAME = 1e-6
ROUNDING = 1e-12


def slope_of(pairs):
    """n, b, se and s over (realised, predicted) pairs of rows that a model did not learn from."""
    squares = math.fsum(p * p for _, p in pairs)
    if squares == 0:
        return {"n": len(pairs), "b": None, "se": None, "s": 0}
    b = math.fsum(y * p for y, p in pairs) / squares
    se = math.sqrt(math.fsum(p * p * (y - b * p) ** 2 for y, p in pairs)) / squares
    return {"n": len(pairs), "b": b, "se": se, "s": min(1, max(0, b - se))}


def shrinkage_table(by_ticker):
    return {
        "pooled": slope_of([pair for pairs in by_ticker.values() for pair in pairs]),
        "by_ticker": {ticker: slope_of(pairs) for ticker, pairs in by_ticker.items()},
    }


def newey_west_t(values, lag=5):
    """The t of a mean whose values correlate over time; None where there is none."""
    n = len(values)
    if n < 2 or max(values) == min(values):
        return None
    centre = math.fsum(values) / n
    variance = 0.0
    for i in range(n):
        for j in range(max(0, i - lag), min(n, i + lag + 1)):
            variance += (1 - abs(i - j) / (lag + 1)) * (values[i] - centre) * (values[j] - centre)
    return centre / math.sqrt(variance / n / n)


def is_skilled(by_ticker, baseline):
    """Over rows (day, realised, predicted, training mean) of each ticker: whether forecasts gain more than chance would.

    `baseline` makes of a training mean what forecasts are compared with; forecasts that are it but for rounding gain 0.
    """
    by_day = {}
    squares = []
    for rows in by_ticker.values():
        square = math.fsum(r[1] ** 2 for r in rows) / len(rows) if rows else 0
        if square > 0:
            for d, y, p, training_mean in rows:
                r = baseline(training_mean)
                gain = ((y - r) ** 2 - (y - p) ** 2) / square
                by_day.setdefault(d, []).append(0 if abs(p - r) <= SAME * math.sqrt(square) else gain)
                squares.append((y * y + p * p + r * r) / square)
    means = [math.fsum(by_day[d]) / len(by_day[d]) for d in sorted(by_day)]
    n = len(means)
    if n < LEAST_DATES:
        return False
    floor = ROUNDING * statistics.fmean(squares)
    if statistics.pstdev(means) <= floor:
        return statistics.fmean(means) > floor
    return newey_west_t(means) >= asked_t(n)


def asked_t(n, lag=5):
    """The t that chance reaches once in twenty times (Kiefer and Vogelsang 2005, Bartlett kernel, 95 %)."""
    b = (lag + 1) / n
    return 1.6449 + 2.1859 * b + 0.3142 * b**2 - 0.3427 * b**3


def is_wild(labels, pairs, score, mu):
    """The three reasons, one after the other; `mu` is None where there is none."""
    unit = statistics.pstdev(labels)
    slope = slope_of(pairs)["b"] or 0
    tested = statistics.pstdev(p for _, p in pairs) if pairs else None
    scored = statistics.pstdev(score) if score else None
    return (
        (tested is not None and tested > unit / 2 and slope < 0.5)
        or (
            len(score) >= LEAST_SCORE_ROWS
            and tested is not None
            and scored > unit / 2
            and scored > 3 * tested
        )
        or (mu is not None and (abs(mu) > 2 * unit or (abs(mu) > unit and slope < 0.5)))
    )


def warnings_of(by_ticker, wild):
    """Of all tickers together; `wild` are those whose forecasts are too large."""
    found = [is_skilled(by_ticker, lambda _: 0), is_skilled(by_ticker, lambda training_mean: training_mean)]
    told = [] if all(found) else [{"code": "no_skill"}]
    if wild:
        told.append({"code": "wild_forecast", "count": len(wild), "names": wild})
    return told
