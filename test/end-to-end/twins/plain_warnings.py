"""The slow, obvious twin of what a job reports about all its tickers in one warning, and of the entries of its `fits`.

It shares no code with mucast or its engine. A ticker's rows come from `rows_of` in plain_rows.py.
"""

import statistics
from datetime import date

import numpy as np

MIN_ROWS_PER_FEATURE = 5
MAX_IMPORTANCES = 50


def spans(rows):
    """Calendar days from each fit row to the next price."""
    return [rows["following"][d] - d for d in rows["fit"]]


def median_spacing(panels):
    every = [span for rows in panels.values() for span in spans(rows)]
    return statistics.median(every) if every else None


def latest_spans(rows):
    """Calendar days from each of the 11 rows before the last one to the next price; 11 if there are more than 10."""
    return [min(11, rows["following"][d] - d) for d in sorted(rows["x"])[-12:-1]]


def is_not_daily(rows):
    return statistics.median(spans(rows)) >= 2 or statistics.median(latest_spans(rows)) >= 2


def is_learned_from_few(rows, folds):
    """Over folds as (training rows, test rows)."""
    least = MIN_ROWS_PER_FEATURE * len(rows["columns"])
    tested = sum(test for _, test in folds)
    poor = sum(test for train, test in folds if train < least)
    return len(rows["fit"]) < least or (tested > 0 and poor / tested >= 1 / 3 - 1e-12)


def is_unscaled(rows):
    x = np.array([rows["x"][d] for d in rows["fit"]])
    constant = np.ptp(x, axis=0) <= 1e-15 * np.abs(x).max(axis=0)
    deviations = x.std(axis=0)[~constant]
    return len(deviations) > 0 and deviations.max() / deviations.min() > 10


def listing(code, tickers):
    return [{"code": code, "count": len(tickers), "names": tickers}] if tickers else []


def told_of_all(panels, mu_dates, as_of, folds, penalised):
    """The warnings that list tickers. `folds` by ticker; `penalised`: a penalty and no scaler."""
    waiting = [ticker for ticker, rows in panels.items() if rows["warm_up"] > 0]
    waiting_rows = sum(rows["warm_up"] for rows in panels.values())
    told = [{**warning, "names": [f"{waiting_rows} row"]} for warning in listing("warm_up_rows", waiting)]
    old = [f"{t} ({date.fromordinal(d).isoformat()})" for t, d in mu_dates.items() if d < as_of]
    told += listing("older_forecast", old)
    told += listing("not_daily", [t for t, rows in panels.items() if is_not_daily(rows)])
    told += listing("few_rows", [t for t, rows in panels.items() if is_learned_from_few(rows, folds.get(t, []))])
    if penalised:
        told += listing("unscaled_features", [t for t, rows in panels.items() if is_unscaled(rows)])
    return told


def fit_entry(rows):
    labels = [rows["label"][d] for d in rows["fit"]]
    return {
        "fit_rows": len(labels),
        "features": len(rows["columns"]),
        "label_mean": sum(labels) / len(labels),
        "label_deviation": statistics.pstdev(labels),
    }


def importances_of(model, columns):
    """The largest by absolute value, and the first column if equal."""
    values = model.feature_importances_ if hasattr(model, "feature_importances_") else model.coef_
    pairs = [(float(value), name) for value, name in zip(values, columns)]
    ordered = sorted(pairs, key=lambda pair: -abs(pair[0]))
    return [{"feature": name, "importance": value} for value, name in ordered[:MAX_IMPORTANCES]]
