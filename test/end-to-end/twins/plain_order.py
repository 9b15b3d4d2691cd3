"""What an order is worth some closes later, and what it has in common with prices, in a slow and obvious way.

It shares no code with mucast or its engine. Days are ordinals of dates.
"""

import math
import statistics

import numpy as np
from plain_metrics import mean, pearson, ranks
from plain_rows import MAX_GAP, is_number
from plain_verdict import signed_returns
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


def order_over_time(forecasts, labels, units, means):
    by_day = {}
    for ticker in sorted(forecasts):
        rows = [(d, labels[ticker][d], p, means[ticker][d]) for d, p in sorted(forecasts[ticker].items()) if d in labels[ticker]]
        for d, v in signed_returns(rows, units[ticker]):
            by_day.setdefault(d, []).append(v)
    v = [mean(by_day[d]) for d in sorted(by_day)]
    squares = math.fsum(x * x for x in v)
    return {
        "dates": len(v),
        "order_mean": mean(v),
        "order_t": math.fsum(v) / math.sqrt(squares) if squares > 0 else None,
    }


def at_delay(forecasts, labels, units, means, dates, step):
    """The figures for the labels `step` dates later; all of them by ticker and day."""
    later = dict(zip(dates, dates[step:]))
    moved = {t: {d: labels[t][later[d]] for d in own if later.get(d) in labels[t]} for t, own in forecasts.items()}
    none = dict.fromkeys(
        "ic_mean ic_t rank_ic_mean rank_ic_t spread_mean spread_t turnover net_1bp net_5bp net_5bp_t net_10bp".split()
    )
    if len(forecasts) < 5:
        return {**none, **order_over_time(forecasts, moved, units, means)}
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
        "net_5bp_t": mean_t([s - 20 * f for s, f in zip(spread, share)]),
    }


def by_delay(forecasts, labels, units, means, delay):
    """`forecasts`, `labels` and training `means` by ticker and day, `units` by ticker: the deviation of its fit labels."""
    forecasts = {t: own for t, own in forecasts.items() if own}
    dates = sorted({d for own in forecasts.values() for d in own})
    return [{"delay": delay + step, **at_delay(forecasts, labels, units, means, dates, step)} for step in (0, 1, 2)]


def own_labels(forecasts, rows):
    """The labels of the rows that have a forecast."""
    return {t: {d: rows[t]["label"][d] for d in own if d in rows[t]["label"]} for t, own in forecasts.items()}


def one_day_returns(by_day, start, end):
    """Prices inside the window, and log-returns by the date on which they are known; none over more than ten days."""
    priced = {d: p for d, p in sorted(by_day.items()) if start <= d <= end and is_number(p) and p > 0}
    days = list(priced)
    return priced, {d: math.log(priced[d] / priced[b]) for b, d in zip(days, days[1:]) if d - b <= MAX_GAP}


def price_exposures(prices, start, end):
    """By ticker and date: a function that gives the five exposures, None where the history is too short."""
    every = {ticker: one_day_returns(by_day, start, end) for ticker, by_day in prices.items()}
    market = {}
    for _, returns in every.values():
        for d, r in returns.items():
            market.setdefault(d, []).append(r)
    market = {d: mean(rs) for d, rs in market.items()}

    def exposures(ticker, d):
        priced, returns = every[ticker]
        known = [(r, market[e]) for e, r in returns.items() if e <= d]
        days = [e for e in priced if e <= d]
        beta, volatility = None, None
        if len(known) >= 252:
            r, m = np.array(known[-252:]).T
            spread = np.mean((m - m.mean()) ** 2)
            beta = float(np.mean((r - r.mean()) * (m - m.mean())) / spread) if spread > 0 else None
        if len(known) >= 63:
            volatility = float(np.std([r for r, _ in known[-63:]]))
        spans = [math.log(priced[d] / priced[days[-1 - n]]) if len(days) > n else None for n in (5, 21, 252)]
        return [beta, volatility, *spans]

    return exposures


def exposure_table(forecasts, labels, exposures):
    """`exposures(ticker, day)`; None with fewer than five tickers."""
    forecasts = {t: own for t, own in forecasts.items() if own}
    if len(forecasts) < 5:
        return None
    correlations = [[] for _ in range(5)]
    ic, left = [], []
    for d in sorted({d for own in forecasts.values() for d in own}):
        there = {t: exposures(t, d) for t in forecasts if d in forecasts[t]}
        for c in range(5):
            known = [t for t in there if there[t][c] is not None]
            found = pearson([forecasts[t][d] for t in known], [there[t][c] for t in known]) if len(known) >= 5 else None
            if found is not None:
                correlations[c].append(found)
        whole = [t for t in there if d in labels[t] and None not in there[t]]
        p, y = np.array([forecasts[t][d] for t in whole]), [labels[t][d] for t in whole]
        if len(whole) < 12 or pearson(list(p), y) is None:
            continue
        x = np.array([there[t] for t in whole])
        x = np.column_stack([np.ones(len(whole)), (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-300)])
        rest = p - x @ np.linalg.lstsq(x, p, rcond=None)[0]
        ic.append(pearson(list(p), y))
        left.append(pearson(list(rest), y) if np.std(rest) > 1e-6 * np.std(p) else 0.0)
    names = ("beta_252", "volatility_63", "return_5", "return_21", "return_252")
    return {
        "dates": len(ic),
        "ic_mean": mean(ic),
        "ic_t": mean_t(ic),
        "residual": {"ic_mean": mean(left), "ic_t": mean_t(left)},
        "by_exposure": [
            {"name": name, "dates": len(found), "correlation_mean": mean(found), "correlation_t": mean_t(found)}
            for name, found in zip(names, correlations)
        ],
    }


def order_worth(forecasts, rows, prices, window, delay, means=None):
    """The members `by_delay` and `exposures` of a table; `forecasts` by ticker and day. Without `means`, one model made them."""
    if not rows:
        return {}
    labels = own_labels(forecasts, rows)
    units = {t: statistics.pstdev(rows[t]["label"][d] for d in rows[t]["fit"]) for t in rows}
    means = means or {t: dict.fromkeys(own, 0.0) for t, own in forecasts.items()}
    compared = exposure_table(forecasts, labels, price_exposures(prices, *window))
    return {
        "by_delay": by_delay(forecasts, labels, units, means, delay),
        **({} if compared is None else {"exposures": compared}),
    }
