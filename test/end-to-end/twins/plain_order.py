"""What an order is worth some closes later, in a slow and obvious way.

It shares no code with mucast or its engine. Days are ordinals of dates.
"""

import math
import statistics

from plain_metrics import mean, pearson, ranks
from plain_worth import newey_west_t


def mean_t(values):
    """The t of a mean over dates: eight cosine sums from 60 values on, the lag of five below."""
    n = len(values)
    if n < 2 or statistics.pstdev(values) <= 1e-12 * max(abs(v) for v in values):
        return None
    if n < 60:
        return newey_west_t(values)
    sums = [
        math.sqrt(2 / n) * math.fsum(math.cos(math.pi * j * (d + 0.5) / n) * values[d] for d in range(n))
        for j in range(1, 9)
    ]
    return mean(values) / math.sqrt(mean(s * s for s in sums) / n)


def fifths_of(by_ticker):
    """The fifth of each ticker's forecast; None if there are fewer than five, or nothing in the lowest or the highest."""
    names = list(by_ticker)
    found = {
        name: math.floor(5 * (rank - 0.5) / len(names))
        for name, rank in zip(names, ranks([by_ticker[name] for name in names]))
    }
    return found if len(names) >= 5 and {0, 4} <= set(found.values()) else None


def replaced(before, now, fifth):
    held = [t for t in now if now[t] == fifth and t in before]
    return mean(before[t] != fifth for t in held)


def order_over_time(forecasts, labels, units):
    by_day = {}
    for ticker in sorted(forecasts):
        seen = []
        for d in sorted(d for d in forecasts[ticker] if d in labels[ticker]):
            seen.append(forecasts[ticker][d])
            above = forecasts[ticker][d] - mean(seen)
            sign = 0 if abs(above) <= 1e-12 * max(map(abs, seen)) else math.copysign(1, above)
            by_day.setdefault(d, []).append(sign * labels[ticker][d] / units[ticker])
    v = [mean(by_day[d]) for d in sorted(by_day)][5:]
    squares = math.fsum(x * x for x in v)
    return {
        "dates": len(v),
        "order_mean": mean(v),
        "order_t": math.fsum(v) / math.sqrt(squares) if squares > 0 else None,
    }


def at_delay(forecasts, labels, units, dates, step):
    """The figures for the labels `step` dates later; all of them by ticker and day."""
    later = dict(zip(dates, dates[step:]))
    moved = {t: {d: labels[t][later[d]] for d in own if later.get(d) in labels[t]} for t, own in forecasts.items()}
    none = dict.fromkeys(
        "ic_mean ic_t rank_ic_mean rank_ic_t spread_mean spread_t turnover net_1bp net_5bp net_10bp".split()
    )
    if len(forecasts) < 5:
        return {**none, **order_over_time(forecasts, moved, units)}
    sorted_by = {d: fifths_of({t: own[d] for t, own in forecasts.items() if d in own}) for d in dates}
    ic, rank_ic, spread, share = [], [], [], []
    for before, d in zip(dates, dates[1:]):
        if sorted_by[before] is None or sorted_by[d] is None:
            continue
        there = [t for t in forecasts if d in forecasts[t] and d in moved[t]]
        p, y = [forecasts[t][d] for t in there], [moved[t][d] for t in there]
        ends = [mean(math.exp(moved[t][d]) - 1 for t in there if sorted_by[d][t] == end) for end in (4, 0)]
        fresh = [replaced(sorted_by[before], sorted_by[d], end) for end in (4, 0)]
        if len(there) < 5 or pearson(p, y) is None or None in ends or None in fresh:
            continue
        ic.append(pearson(p, y))
        rank_ic.append(pearson(ranks(p), ranks(y)))
        spread.append(10_000 * (ends[0] - ends[1]))
        share.append(mean(fresh))
    if not ic:
        return {**none, "dates": 0}
    return {
        "dates": len(ic),
        "ic_mean": mean(ic),
        "ic_t": mean_t(ic),
        "rank_ic_mean": mean(rank_ic),
        "rank_ic_t": mean_t(rank_ic),
        "spread_mean": mean(spread),
        "spread_t": mean_t(spread),
        "turnover": mean(share),
        **{f"net_{cost}bp": mean(s - cost * 4 * f for s, f in zip(spread, share)) for cost in (1, 5, 10)},
    }


def by_delay(forecasts, labels, units, delay=0):
    """`forecasts` and `labels` by ticker and day, `units` by ticker: the deviation of its fit labels."""
    forecasts = {t: own for t, own in forecasts.items() if own}
    dates = sorted({d for own in forecasts.values() for d in own})
    return [{"delay": delay + step, **at_delay(forecasts, labels, units, dates, step)} for step in (0, 1, 2)]


def own_labels(forecasts, rows):
    """The labels of the rows that have a forecast."""
    return {t: {d: rows[t]["label"][d] for d in own if d in rows[t]["label"]} for t, own in forecasts.items()}
