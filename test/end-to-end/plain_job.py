"""The slow, obvious twin of run_ml_job: json, numpy, one dict of dates per ticker and the field's own regressors.

It shares no code with mucast or its engine. Usage: `python plain_job.py REQUEST.json`, where the request holds
`[{"features": path, "prices": path, "configs": [JSON text, ...]}, ...]`; stdout is a JSON array with one array of
results per entry, one result per config.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import json
import math
import sys
import warnings
from datetime import date
from decimal import Context, Decimal

import numpy as np
from plain_intervals import ends_by_method, interval_metrics, quantile_of, score_rows, settings_of
from plain_warnings import fit_entry, importances_of, median_spacing, told_of_all
from plain_verdict import shrinkage_table, verdict_of, warnings_of
from plain_worth import is_wild, newey_west_t, slope_of

MINIMUM_FIT_ROWS = 30
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


# --- Rows -----------------------------------------------------------------------------------------------------


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


def rows_of(prices, features, feature_days, start, end, cut):
    """Rules 2 to 7 for one ticker."""
    told = []
    inside = {d: p for d, p in prices.items() if start <= d <= end and is_number(p)}
    nonpositive = sum(1 for p in inside.values() if p <= 0)
    if nonpositive:
        told.append({"code": "nonpositive_price", "count": nonpositive})
    price_days = sorted(d for d, p in inside.items() if p > 0)

    label, label_day, gaps = {}, {}, 0
    for d, following in zip(price_days, price_days[1:]):
        if following - d > MAX_GAP:
            gaps += 1
            continue
        label[d] = logarithm(inside[following] / inside[d])
        label_day[d] = following
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
    score = [d for d in whole if fit and d > fit[-1]]
    return {
        "columns": columns,
        "fit": fit,
        "score": score,
        "label": label,
        "label_day": label_day,
        "price_days": price_days,
        "last_price": price_days[-1] if price_days else None,
        "warm_up": len(warm_up),
        "warnings": told,
        "x": {d: [features[name][d] for name in columns] for d in whole},
    }


# --- Models ---------------------------------------------------------------------------------------------------


def regressor(model, given):
    """A fresh, unfitted regressor: the caller's arguments, plus seed, silence and one thread unless given."""
    model = model.lower()
    params = dict(given)
    if model in ("random_forest", "rf"):
        from sklearn.ensemble import RandomForestRegressor

        params.setdefault("random_state", 42)
        return RandomForestRegressor(**{**params, "n_jobs": 1})
    if model in ("xgboost", "xgb"):
        from xgboost import XGBRegressor

        params.setdefault("random_state", 42)
        params.setdefault("verbosity", 0)
        params.pop("nthread", None)
        return XGBRegressor(**{**params, "n_jobs": 1})
    if model in ("lightgbm", "lgbm"):
        from lightgbm import LGBMRegressor

        params.setdefault("random_state", 42)
        params.setdefault("verbose", -1)
        params.pop("num_threads", None)
        return LGBMRegressor(**{**params, "n_jobs": 1})
    if model == "catboost":
        from catboost import CatBoostRegressor

        params.setdefault("random_seed", 42)
        params.setdefault("verbose", False)
        return CatBoostRegressor(**{**params, "thread_count": 1, "allow_writing_files": False})

    from sklearn import linear_model

    if model in ("linear", "linear_regression"):
        return linear_model.LinearRegression(**params)
    if model == "quantile":
        return linear_model.QuantileRegressor(**params)
    names = {"ridge": "Ridge", "lasso": "Lasso", "elastic_net": "ElasticNet"}
    params.setdefault("random_state", 42)
    return getattr(linear_model, names[model])(**params)


def scaled(scaler, train, test):
    if scaler == "none":
        return train, test
    from sklearn import preprocessing

    names = {
        "standard": "StandardScaler",
        "minmax": "MinMaxScaler",
        "robust": "RobustScaler",
        "maxabs": "MaxAbsScaler",
    }
    fitted = getattr(preprocessing, names[scaler])().fit(train)
    return fitted.transform(train), fitted.transform(test)


def forecast(params, rows, train_days, test_days):
    """Forecasts of the test days, and the model that made them."""
    train = np.array([rows["x"][d] for d in train_days], dtype=np.float64)
    test = np.array([rows["x"][d] for d in test_days or train_days], dtype=np.float64)
    y = np.array([rows["label"][d] for d in train_days], dtype=np.float64)
    train, test = scaled(params.get("scaler", "none"), train, test)
    model = regressor(params["model"], params.get("model_params", {}))
    model.fit(train, y)
    return [float(value) for value in model.predict(test)][: len(test_days)], model


def folds_of(n, test_size, n_splits):
    k = max(0, min(n_splits, (n - MINIMUM_FIT_ROWS) // test_size))
    return [(n - (k - j) * test_size, n - (k - j - 1) * test_size) for j in range(k)]


# --- Metrics --------------------------------------------------------------------------------------------------


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


# --- The job --------------------------------------------------------------------------------------------------


def run_ticker(params, rows):
    """Folds, forecasts and intervals of one ticker."""
    fit, score, label = rows["fit"], rows["score"], rows["label"]
    test_size = params.get("cv_test_size", params.get("test_size", 15))
    n_splits = params.get("n_splits", 15)
    folds, out_of_fold = [], []
    for test_start, test_end in folds_of(len(fit), test_size, n_splits):
        train, test = fit[:test_start], fit[test_start:test_end]
        training_mean = mean(label[d] for d in train)
        predicted, _ = forecast(params, rows, train, test)
        part = [(d, label[d], p, training_mean) for d, p in zip(test, predicted)]
        out_of_fold += part
        folds.append(
            {
                "train_start": iso(train[0]),
                "train_end": iso(train[-1]),
                "test_start": iso(test[0]),
                "test_end": iso(test[-1]),
                "train_rows": len(train),
                **metrics(part),
            }
        )
    predicted, model = forecast(params, rows, fit, score)
    constant = len(predicted) >= 2 and max(predicted) == min(predicted)
    share = slope_of([(y, p) for _, y, p, _ in out_of_fold])["s"] if params.get("shrinkage") == "own" else 1.0
    predicted = [share * p for p in predicted]
    training_mean = mean(label[d] for d in fit)
    told = list(rows["warnings"])
    if len(folds) < n_splits:
        told.append({"code": "fewer_folds"})
    if constant:
        told.append({"code": "constant_predictions"})
    settings = settings_of(params.get("intervals"))
    pairs = [(y, share * p) for _, y, p, _ in out_of_fold]
    lower, upper = [None] * len(score), [None] * len(score)
    entry = None
    if settings is not None:
        alpha, bound = settings["alpha"], settings["bound"]
        if pairs and quantile_of(pairs, alpha, bound) is None:  # Without any residual, fewer_folds reports it.
            told.append({"code": "interval_unsupported"})
        dated = score_rows(rows, list(zip(score, predicted)))
        entry = {"pairs": pairs, "score": dated, "ends": ends_by_method(pairs, dated, alpha, bound)}
        lower, upper = entry["ends"][settings["method"]]
    return {
        "forecast": {
            "dates": [iso(d) for d in score],
            "predicted": predicted,
            "realised": [label.get(d) for d in score],
            "lower": lower,
            "upper": upper,
        },
        "cross_validation": {
            "folds": folds,
            "dates": [iso(r[0]) for r in out_of_fold],
            "predicted": [r[2] for r in out_of_fold],
            "realised": [r[1] for r in out_of_fold],
            **metrics(out_of_fold),
        },
        "out_of_fold": out_of_fold,
        "pairs": pairs,
        "score": [(d, label[d], p, training_mean) for d, p in zip(score, predicted) if d in label],
        "share": share,
        "intervals": entry,
        "fit": {**fit_entry(rows), "importances": importances_of(model, rows["columns"])},
        "warnings": told,
    }


def run(bounds, prices, features, feature_days, config):
    params = config["ML params"]
    start, end, learning_end, defaulted = resolve_window(bounds, prices)
    cut = end if learning_end is None else learning_end
    as_of = max(
        d for by_day in prices.values() for d, p in by_day.items() if start <= d <= end and is_number(p) and p > 0
    )
    told = [{"code": "window_defaulted", "bound": key} for key in defaulted]
    told += [{"code": "no_prices", "ticker": t} for t in sorted(features) if t not in prices]
    told += [{"code": "no_features", "ticker": t} for t in sorted(prices) if t not in features]

    fitted, failures, mu, mu_dates, panels, wild = {}, [], {}, {}, {}, []
    for ticker in sorted(t for t in prices if t in features):
        rows = rows_of(prices[ticker], features[ticker], feature_days, start, end, cut)
        if len(rows["fit"]) < MINIMUM_FIT_ROWS or not rows["columns"]:  # No feature: nothing to learn from.
            failures.append({"ticker": ticker, "code": "insufficient_history"})
            continue
        result = run_ticker(params, rows)
        fitted[ticker], panels[ticker] = result, rows
        told += [{**warning, "ticker": ticker} for warning in result["warnings"]]
        score = rows["score"]
        if score and score[-1] == rows["last_price"] and as_of - score[-1] <= MAX_GAP:
            mu[ticker] = result["forecast"]["predicted"][-1]
            mu_dates[ticker] = score[-1]
        else:
            told.append({"code": "stale_ticker", "ticker": ticker})
        labels = [rows["label"][d] for d in rows["fit"]]
        if is_wild(labels, result["pairs"], result["forecast"]["predicted"], mu.get(ticker)):
            wild.append(ticker)

    folds = {
        ticker: [(fold["train_rows"], fold["n"]) for fold in result["cross_validation"]["folds"]]
        for ticker, result in fitted.items()
    }
    penalised = params["model"].lower() in ("ridge", "lasso", "elastic_net") and params.get("scaler", "none") == "none"
    told += told_of_all(panels, mu_dates, as_of, folds, penalised)

    score = {ticker: result["score"] for ticker, result in fitted.items()}
    out_of_fold = {ticker: result["out_of_fold"] for ticker, result in fitted.items()}
    both = {"score": score, "out_of_fold": out_of_fold}
    verdict = verdict_of(out_of_fold, score)
    chooses = params.get("shrinkage", "none") != "none"
    told += warnings_of(verdict, chooses, wild)
    applied = {"applied": {ticker: result["share"] for ticker, result in fitted.items()}} if chooses else {}
    settings = settings_of(params.get("intervals"))
    return {
        "window": {
            "start": iso(start),
            "end": iso(end),
            "learning_end": None if learning_end is None else iso(learning_end),
            "as_of": iso(as_of),
            "median_spacing_days": median_spacing(panels),
        },
        "verdict": verdict,
        "mu": mu,
        "mu_dates": {ticker: iso(d) for ticker, d in mu_dates.items()},
        "fits": {ticker: result["fit"] for ticker, result in fitted.items()},
        "forecasts": {ticker: result["forecast"] for ticker, result in fitted.items()},
        "cross_validation": {ticker: result["cross_validation"] for ticker, result in fitted.items()},
        "metrics": {
            **{name: table(rows) for name, rows in both.items()},
            "baselines": {
                "zero": {name: table(zero_baseline(rows)) for name, rows in both.items()},
                "mean": {name: table(mean_baseline(rows)) for name, rows in both.items()},
            },
            "shrinkage": {**shrinkage_table(out_of_fold), **applied},
            "intervals": None
            if settings is None
            else interval_metrics(settings, {ticker: result["intervals"] for ticker, result in fitted.items()}),
        },
        "warnings": told,
        "failures": failures,
    }


def main():
    warnings.simplefilter("ignore")
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    results = []
    for entry in request:
        bounds, prices = read_prices(entry["prices"])
        features, feature_days = read_features(entry["features"])
        results.append([run(bounds, prices, features, feature_days, json.loads(text)) for text in entry["configs"]])
    json.dump(results, sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main()
