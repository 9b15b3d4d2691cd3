"""The intervals of the plain twins: the ends of each method around one ticker's forecasts, and their evidence."""

import math
from datetime import date

from adaptive_intervals import (
    by_year_of,
    evidence_of,
    four_of,
    has_ends,
    interval_score_of,
    intervals_of,
    is_finite,
    joint_misses_of,
    prequential_of,
    tenths_of,
    top_tenth_of,
    volatility_of,
)

METHODS = ("adaptive", "split")
CONSTANTS = {
    "adaptive": {"fast_decay": 0.9, "slow_decay": 0.99, "slow_share": 0.3, "feedback": 0.05},
    "split": {},
}


def settings_of(given):
    """The settings of intervals with their defaults, None if they are off."""
    if given is None or not given.get("enabled", True):
        return None
    return {key: given.get(key, value) for key, value in (("method", "adaptive"), ("alpha", 0.1), ("bound", "both"))}


def quantile_of(pairs, alpha, bound):
    """The conformal quantile over (realised, predicted, ...) rows; None if no finite one exists."""
    score = {"both": lambda y, p: abs(y - p), "lower": lambda y, p: p - y, "upper": lambda y, p: y - p}[bound]
    ordered = sorted(score(y, p) for y, p, *_ in pairs)
    rank = max(1, math.ceil((len(ordered) + 1) * (1 - alpha) - 1e-9))
    return None if rank > len(ordered) else ordered[rank - 1]


def bounds_of(predicted, q, bound):
    lower = [None if q is None or bound == "upper" else p - q for p in predicted]
    upper = [None if q is None or bound == "lower" else p + q for p in predicted]
    return lower, upper


def score_rows(rows, predicted):
    """One dict per score row; `rows` as returned by `rows_of`."""
    days = rows["price_days"]
    place = {d: i for i, d in enumerate(days)}
    returns = [rows["returns"].get(d) for d in days]
    return [
        {
            "day": d,
            "year": date_year(d),
            "label_day": rows["label_day"].get(d),
            "realised": rows["label"].get(d),
            "predicted": p,
            "volatility": volatility_of(returns, place[d]),
        }
        for d, p in predicted
    ]


def date_year(ordinal):
    return f"{date.fromordinal(ordinal).year:04d}"


def ends_by_method(pairs, score, alpha, bound):
    """The lower and upper ends of each method around the score rows, from (realised, predicted, day, label day) of residuals."""
    adaptive = intervals_of(pairs, score, alpha, bound)
    split = bounds_of([row["predicted"] for row in score], quantile_of(pairs, alpha, bound), bound)
    return {"adaptive": (adaptive["lower"], adaptive["upper"]), "split": split}


def with_ends(score, ends):
    return [{**row, "lower": lower, "upper": upper} for row, lower, upper in zip(score, *ends)]


def table_of(by_ticker, alpha, prequential):
    """The evidence of one method, pooled and by ticker; `by_ticker` holds rows with ends."""
    told = {ticker: evidence_of(rows, alpha) for ticker, rows in by_ticker.items()}
    labelled = [row for rows in by_ticker.values() for row in rows if is_finite(row["realised"])]
    volatile = [
        row for rows in by_ticker.values() for row in top_tenth_of([row for row in rows if is_finite(row["realised"])])
    ]
    worst = [entry["worst_250"] for entry in told.values() if entry["worst_250"] is not None]
    pooled = {
        **four_of(labelled, alpha),
        "by_year": by_year_of([row for row in labelled if has_ends(row["lower"], row["upper"])], alpha),
        "high_volatility": four_of(volatile, alpha),
        "worst_250": min(worst, default=None),
    }
    for ticker, rows in by_ticker.items():
        seen = [row for row in rows if is_finite(row["realised"]) and has_ends(row["lower"], row["upper"])]
        told[ticker]["by_year"] = by_year_of(seen, alpha)
    if prequential is not None:
        counted = [entry for entry in prequential.values() if entry is not None]
        pooled["prequential"] = share_of(
            {key: sum(entry[key] for entry in counted) for key in ("n", "inside")} if counted else None
        )
        for ticker, entry in prequential.items():
            told[ticker]["prequential"] = share_of(entry)
    labelled_rows = [[row for row in rows if is_finite(row["realised"])] for rows in by_ticker.values()]
    tenths = zip(*(tenths_of(rows) for rows in labelled_rows))
    return {
        "pooled": pooled,
        "by_volatility": [four_of([row for part in tenth for row in part], alpha) for tenth in tenths],
        "joint_misses": joint_misses_of(by_ticker),
        "by_ticker": told,
    }


def share_of(entry):
    return None if entry is None else {"n": entry["n"], "coverage": entry["inside"] / entry["n"]}


def ratio_of(asked, other, alpha):
    """The mean over tickers of the ratios of interval scores, on rows for which both methods have ends."""
    ratios = []
    for ticker, rows in asked.items():
        both = [
            (a, b)
            for a, b in zip(rows, other[ticker])
            if is_finite(a["realised"]) and has_ends(a["lower"], a["upper"]) and has_ends(b["lower"], b["upper"])
        ]
        own = math.fsum(interval_score_of(a, alpha) for a, _ in both)
        others = math.fsum(interval_score_of(b, alpha) for _, b in both)
        if others:
            ratios.append(own / others)
    return math.fsum(ratios) / len(ratios) if ratios else None


def interval_metrics(settings, tickers):
    """`metrics.intervals`; `tickers` maps names to {"pairs", "score", "ends"}, the ends by method.

    Omits a method whose ends are unknown because the predictions of the residuals are, and what residuals show.
    """
    method, alpha, bound = settings["method"], settings["alpha"], settings["bound"]

    def rows(name):
        return {ticker: with_ends(entry["score"], entry["ends"][name]) for ticker, entry in tickers.items()}

    def tested(name):
        if name != "adaptive":
            return None
        return {ticker: prequential_of(entry["pairs"], alpha, bound) for ticker, entry in tickers.items()}

    asked = rows(method)
    known = set.intersection(*(set(entry["ends"]) for entry in tickers.values()))
    if known == {method}:
        return {**settings, "constants": CONSTANTS[method], **table_of(asked, alpha, None)}
    others = {}
    for name in METHODS:
        if name == method:
            continue
        same = {ticker: on_same_rows(told, asked[ticker]) for ticker, told in rows(name).items()}
        others[name] = {**table_of(same, alpha, tested(name)), "score_ratio": ratio_of(asked, same, alpha)}
    return {
        **settings,
        "constants": CONSTANTS[method],
        **table_of(asked, alpha, tested(method)),
        "other_methods": others,
    }


def on_same_rows(rows, asked):
    return [
        row if has_ends(own["lower"], own["upper"]) else {**row, "lower": None, "upper": None}
        for row, own in zip(rows, asked)
    ]
