"""How good forecasts are, in a slow and obvious way: their slope, the t of a mean over dates, and whether they are
too large."""

import math
import statistics

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
