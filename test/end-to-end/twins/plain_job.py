"""The slow, obvious twin of run_ml_job: json, numpy, one dict of dates per ticker and the field's own regressors.

It shares no code with mucast or its engine. Usage: `python plain_job.py REQUEST.json`, where the request holds
`[{"features": path, "prices": path, "configs": [JSON text, ...]}, ...]`; stdout is a JSON array with one array of
results per entry, one result per config.
"""

import json
import sys
import warnings

# First, because it limits the math libraries to one thread.
from plain_models import MINIMUM_FIT_ROWS, folds_of, forecast, known_by

from plain_intervals import ends_by_method, interval_metrics, quantile_of, score_rows, settings_of
from plain_metrics import mean, mean_baseline, metrics, table, zero_baseline
from plain_order import order_worth
from plain_rows import MAX_GAP, is_number, iso, read_features, read_prices, resolve_window, rows_of
from plain_verdict import verdict_of, warnings_of
from plain_warnings import fit_entry, importances_of, median_spacing, told_of_all
from plain_worth import is_wild, shrinkage_table, slope_of


def run_ticker(params, rows):
    """Folds, forecasts and intervals of one ticker."""
    fit, score, label = rows["fit"], rows["score"], rows["label"]
    test_size = params.get("cv_test_size", params.get("test_size", 15))
    n_splits = params.get("n_splits", 15)
    folds, out_of_fold = [], []
    for test_start, test_end in folds_of(len(fit), test_size, n_splits, params.get("delay", 0)):
        train, test = known_by(rows, fit[:test_start], fit[test_start]), fit[test_start:test_end]
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
                "label_mean": training_mean,
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
    residuals = [(*pair, row[0], rows["label_day"][row[0]]) for pair, row in zip(pairs, out_of_fold)]
    lower, upper = [None] * len(score), [None] * len(score)
    entry = None
    if settings is not None:
        alpha, bound = settings["alpha"], settings["bound"]
        if pairs and quantile_of(pairs, alpha, bound) is None:  # Without any residual, fewer_folds reports it.
            told.append({"code": "interval_unsupported"})
        dated = score_rows(rows, list(zip(score, predicted)))
        entry = {"pairs": residuals, "score": dated, "ends": ends_by_method(residuals, dated, alpha, bound)}
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
        "published": dict(zip(score, predicted)),
        "score": [(d, label[d], p, training_mean) for d, p in zip(score, predicted) if d in label],
        "share": share,
        "intervals": entry,
        "fit": {**fit_entry(rows), "importances": importances_of(model, rows["columns"])},
        "warnings": told,
    }


def run(bounds, prices, features, feature_days, config):
    params = config["ML params"]
    delay = params.get("delay", 0)
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
        rows = rows_of(prices[ticker], features[ticker], feature_days, start, end, cut, delay)
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
    tested = {ticker: {row[0]: row[2] for row in rows} for ticker, rows in out_of_fold.items()}
    means = {ticker: {row[0]: row[3] for row in rows} for ticker, rows in out_of_fold.items()}
    ordered = {
        "score": ({ticker: result["published"] for ticker, result in fitted.items()}, None),
        "out_of_fold": (tested, means),
    }
    deviations = {ticker: result["fit"]["label_deviation"] for ticker, result in fitted.items()}
    verdict = verdict_of(out_of_fold, score, deviations)
    chooses = params.get("shrinkage", "none") != "none"
    told += warnings_of(verdict, chooses, wild)
    applied = {"applied": {ticker: result["share"] for ticker, result in fitted.items()}} if chooses else {}
    settings = settings_of(params.get("intervals"))
    held_out = {ticker: [(d, y, p, 0.0) for d, y, p, _ in rows] for ticker, rows in out_of_fold.items()}
    return {
        "window": {
            "start": iso(start),
            "end": iso(end),
            "learning_end": None if learning_end is None else iso(learning_end),
            "as_of": iso(as_of),
            "median_spacing_days": median_spacing(panels),
            **({"delay": delay} if delay else {}),
        },
        "verdict": verdict,
        "mu": mu,
        "mu_dates": {ticker: iso(d) for ticker, d in mu_dates.items()},
        "fits": {ticker: result["fit"] for ticker, result in fitted.items()},
        "forecasts": {ticker: result["forecast"] for ticker, result in fitted.items()},
        "cross_validation": {ticker: result["cross_validation"] for ticker, result in fitted.items()},
        "metrics": {
            **{
                name: {
                    **table(rows),
                    **order_worth(ordered[name][0], panels, prices, (start, end), delay, ordered[name][1]),
                }
                for name, rows in both.items()
            },
            "baselines": {
                "zero": {name: table(zero_baseline(rows)) for name, rows in both.items()},
                "mean": {name: table(mean_baseline(rows)) for name, rows in both.items()},
            },
            "shrinkage": {**shrinkage_table(held_out), **applied, "levels": {"held_out": [], "score": []}},
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
