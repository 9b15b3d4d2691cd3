"""The rows of the slow, obvious twins: prices, features, the window, labels, fit rows and score rows.

It shares no code with mucast or its engine. Days are ordinals of dates.
"""

import json
import math
from datetime import date
from decimal import Context, Decimal

MAX_GAP = 10


def day(text):
    return date.fromisoformat(text[:10]).toordinal()


def iso(ordinal):
    return date.fromordinal(ordinal).isoformat()


def is_number(value):
    return value is not None and math.isfinite(value)


FORTY_DIGITS = Context(prec=40)


def logarithm(ratio):
    """ln of a float64, rounded once; Python's own is sometimes off by a unit in the last place."""
    return float(Decimal(ratio).ln(FORTY_DIGITS))


def read_prices(path):
    """The window as written, and each ticker's prices as {day: value}, finite or not."""
    with open(path, encoding="utf-8") as file:
        blob = json.load(file)
    days = [day(text) for text in blob["dates"]]
    prices = {ticker: dict(zip(days, values)) for ticker, values in blob["prices"].items()}
    bounds = {key: blob.get(key) for key in ("start", "end", "Learning_end")}
    return {key: None if text is None else day(text) for key, text in bounds.items()}, prices


def read_features(path):
    with open(path, encoding="utf-8") as file:
        blob = json.load(file)
    days = [day(text) for text in blob["dates"]]
    return {
        ticker: {name: dict(zip(days, values)) for name, values in columns.items()}
        for ticker, columns in blob["features"].items()
    }, set(days)


def resolve_window(bounds, prices):
    """Rule 1: start, end, cut, and how many bounds had to be filled in."""
    price_days = [d for by_day in prices.values() for d, p in by_day.items() if is_number(p) and p > 0]
    start = min(price_days) if bounds["start"] is None else bounds["start"]
    end = max(price_days) if bounds["end"] is None else bounds["end"]
    learning_end = bounds["Learning_end"]
    if learning_end is not None and not start <= learning_end <= end:
        raise SystemExit("Learning_end is outside the window")
    defaulted = [key for key in ("start", "end") if bounds[key] is None]
    return start, end, learning_end, defaulted


def rows_of(prices, features, feature_days, start, end, cut, delay=0):
    """Rules 2 to 7 for one ticker."""
    told = []
    inside = {d: p for d, p in prices.items() if start <= d <= end and is_number(p)}
    nonpositive = sum(1 for p in inside.values() if p <= 0)
    if nonpositive:
        told.append({"code": "nonpositive_price", "count": nonpositive})
    price_days = sorted(d for d, p in inside.items() if p > 0)

    label, label_day, gaps = {}, {}, 0
    for i, d in enumerate(price_days):
        ahead = price_days[i : i + delay + 2]
        if any(later - sooner > MAX_GAP for sooner, later in zip(ahead, ahead[1:])):
            gaps += 1
        elif len(ahead) == delay + 2:
            label[d] = logarithm(inside[ahead[-1]] / inside[ahead[-2]])
            label_day[d] = ahead[-1]
    following = dict(zip(price_days, price_days[1:]))
    returns = {d: logarithm(inside[e] / inside[d]) for d, e in following.items() if e - d <= MAX_GAP}
    if gaps:
        told.append({"code": "long_gap", "count": gaps})

    row_days = [d for d in price_days if d in feature_days]
    candidates = [d for d in row_days if d in label and label_day[d] <= cut]
    columns = []
    for name, values in features.items():
        if any(is_number(values[d]) for d in candidates):
            columns.append(name)
        else:
            told.append({"code": "empty_feature", "feature": name})

    lacked = {d: [name for name in columns if not is_number(features[name][d])] for d in row_days}
    whole = [d for d in row_days if not lacked[d]]
    warm_up = [
        d for d in row_days if lacked[d] and all(name in lacked[e] for name in lacked[d] for e in row_days if e < d)
    ]
    torn = [d for d in row_days if lacked[d] and d not in warm_up]
    if torn:
        missing = {name: sum(1 for d in torn if name in lacked[d]) for name in columns}
        costliest = [name for name in columns if missing[name] == max(missing.values())]
        told.append({"code": "missing_features", "count": len(torn), "features": costliest})

    fit = [d for d in candidates if d in whole]
    learned = max((day for day in label_day.values() if day <= cut), default=None)
    score = [d for d in whole if fit and d >= learned]
    # With a delay, also the rows before the score rows: no forecast is made there, but later models learn from them.
    later = [d for d in whole if fit and d > fit[-1]]
    return {
        "columns": columns,
        "fit": fit,
        "score": score,
        "later": later,
        "label": label,
        "label_day": label_day,
        "returns": returns,
        "following": following,
        "price_days": price_days,
        "last_price": price_days[-1] if price_days else None,
        "warm_up": len(warm_up),
        "warnings": told,
        "x": {d: [features[name][d] for name in columns] for d in whole},
    }
