"""The metrics of the slow, obvious twins, over rows of (day, realised, predicted, training mean).

It shares no code with mucast or its engine.
"""

import math

import numpy as np
from plain_worth import newey_west_t


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values) if values else None


def pearson(a, b):
    if len(a) < 2 or max(a) == min(a) or max(b) == min(b):
        return None
    ma, mb = mean(a), mean(b)
    top = math.fsum((x - ma) * (y - mb) for x, y in zip(a, b))
    return top / math.sqrt(math.fsum((x - ma) ** 2 for x in a) * math.fsum((y - mb) ** 2 for y in b))


def ranks(values):
    return [
        sum(1 for other in values if other < value) + (sum(1 for other in values if other == value) + 1) / 2
        for value in values
    ]


def metrics(rows):
    """Over rows (day, realised, predicted, training mean)."""
    y = [r[1] for r in rows]
    p = [r[2] for r in rows]
    sse = math.fsum((a - b) ** 2 for a, b in zip(y, p))
    around_zero = math.fsum(a * a for a in y)
    around_mean = math.fsum((r[1] - r[3]) ** 2 for r in rows)
    signed = [(a > 0) == (b > 0) for a, b in zip(y, p) if a != 0 and b != 0]
    return {
        "n": len(rows),
        "rmse": math.sqrt(sse / len(rows)) if rows else None,
        "mae": mean(abs(a - b) for a, b in zip(y, p)),
        "hit_rate": mean(signed),
        "up_share": mean(a > 0 for a, b in zip(y, p) if a != 0 and b != 0),
        "hit_rate_se": math.sqrt(mean(signed) * (1 - mean(signed)) / len(signed)) if signed else None,
        "r2_zero": 1 - sse / around_zero if around_zero > 0 else None,
        "r2_mean": 1 - sse / around_mean if around_mean > 0 else None,
        "correlation": pearson(p, y),
    }


def cross_section(by_ticker):
    by_day = {}
    for rows in by_ticker.values():
        for r in rows:
            by_day.setdefault(r[0], []).append(r)
    ic, rank_ic, counts = [], [], []
    for d in sorted(by_day):
        there = by_day[d]
        if len(there) < 3:
            continue
        y, p = [r[1] for r in there], [r[2] for r in there]
        if pearson(p, y) is None:
            continue
        ic.append(pearson(p, y))
        rank_ic.append(pearson(ranks(p), ranks(y)))
        counts.append(len(there))
    return {
        "dates": len(ic),
        "mean_tickers": mean(counts),
        **summary("ic", ic),
        "ic_t_newey_west": newey_west_t(ic),
        **summary("rank_ic", rank_ic),
    }


def summary(name, values):
    centre = mean(values)
    spread = None
    if len(values) >= 2:
        spread = math.sqrt(math.fsum((v - centre) ** 2 for v in values) / (len(values) - 1))
    ratio = centre / spread if spread else None
    ratio_name = "icir" if name == "ic" else "rank_icir"
    return {
        f"{name}_mean": centre,
        f"{name}_std": spread,
        ratio_name: ratio,
        f"{name}_t": None if ratio is None else ratio * math.sqrt(len(values)),
    }


def table(by_ticker):
    own = {ticker: metrics(rows) for ticker, rows in by_ticker.items()}
    skills = [m["r2_zero"] for m in own.values() if m["r2_zero"] is not None]
    return {
        "pooled": metrics([r for rows in by_ticker.values() for r in rows]),
        "by_ticker": own,
        "cross_section": cross_section(by_ticker),
        "r2_zero_median": float(np.median(skills)) if skills else None,
    }


def zero_baseline(by_ticker):
    return {ticker: [(d, y, 0.0, m) for d, y, _, m in rows] for ticker, rows in by_ticker.items()}


def mean_baseline(by_ticker):
    return {ticker: [(d, y, m, m) for d, y, _, m in rows] for ticker, rows in by_ticker.items()}
