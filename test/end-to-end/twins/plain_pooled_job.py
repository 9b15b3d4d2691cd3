"""The slow, obvious twin of run_ml_job with `fit`, `target` and `cross_section`, written from docs/semantics.md.

It shares rows and regressors with plain_job.py, and shares no code with mucast or its engine. Usage:
`python plain_pooled_job.py REQUEST.json`, as for plain_job.py; a result has forecasts and counts, and no metrics.
"""

import bisect
import json
import math
import sys
import warnings

import numpy as np
from plain_models import MINIMUM_FIT_ROWS, folds_of, known_by, regressor, scaled
from plain_rows import iso, read_features, read_prices, resolve_window, rows_of

FEWEST = 5


def keep(rows, days):
    """Only these of the fit rows and the rows after them."""
    return {**rows, **{part: [d for d in rows[part] if d in days] for part in ("fit", "score", "later")}}


def compared(tickers):
    """The features that have a z-score, and the values of each on each date."""
    having = {}
    for rows in tickers.values():
        for name in rows["columns"]:
            having[name] = having.get(name, 0) + 1
    scored = {name for name, count in having.items() if count >= FEWEST}
    values = {}
    for ticker in sorted(tickers):
        rows = tickers[ticker]
        for d, x in rows["x"].items():
            for name, value in zip(rows["columns"], x):
                values.setdefault((d, name), []).append(value)
    return scored, values


def z_scored(tickers, comparison=None):
    """Every ticker with its z-scores after its columns, and how many rows lack one; late tickers are compared with
    the others."""
    scored, values = comparison or compared(tickers)

    def z_score(d, name, value):
        v = values[d, name]
        largest = max(abs(other) for other in v)
        if largest == 0:
            return 0.0
        centre, square = 0.0, 0.0
        for other in v:
            centre += other / largest / len(v)
        for other in v:
            away = other / largest - centre
            square += away * away / len(v)
        if math.sqrt(square) <= 1e-12:
            return 0.0
        return max(-3.0, min(3.0, (value / largest - centre) / math.sqrt(square)))

    thin, result = 0, {}
    for ticker, rows in tickers.items():
        own = [name for name in rows["columns"] if name in scored]
        x = {}
        for d, row in rows["x"].items():
            if any(len(values.get((d, name), [])) < FEWEST for name in own):
                thin += 1
                continue
            by_name = dict(zip(rows["columns"], row))
            x[d] = row + [z_score(d, name, by_name[name]) for name in own]
        result[ticker] = {**keep(rows, x), "x": x, "columns": rows["columns"] + [f"{name} (z)" for name in own]}
    return result, thin


def spread(labels):
    """Mean and standard deviation of labels; None if they are too few, and a deviation of None if they are all equal."""
    if len(labels) < FEWEST:
        return None
    total, square = 0.0, 0.0
    for label in labels:
        total += label
    centre = total / len(labels)
    for label in labels:
        square += (label - centre) * (label - centre)
    return centre, math.sqrt(square / len(labels))


def labels_by_date(tickers):
    """For each date, (label date, ticker, label) of every ticker, ascending."""
    by_date = {}
    for ticker, rows in tickers.items():
        for d in rows["x"]:
            if d in rows["label"]:
                by_date.setdefault(d, []).append((rows["label_day"][d], ticker, rows["label"][d]))
    return {d: sorted(there) for d, there in sorted(by_date.items())}


def width_at(dates, by_date, day):
    squares, count = 0.0, 0
    for d in reversed(dates[: bisect.bisect_left(dates, day)]):
        found = spread([label for known, _, label in by_date[d] if known <= day])
        if found is not None and count < 20:
            squares += found[1] * found[1]
            count += 1
        if count == 20:
            break
    return math.sqrt(squares / count) if count else None


def relative(tickers):
    """Targets by (ticker, d), widths by d, and how many dates have fewer than five labels."""
    by_date = labels_by_date(tickers)
    targets, thin = {}, 0
    for d, there in by_date.items():
        fit = [ticker for _, ticker, _ in there if d in tickers[ticker]["fit"]]
        thin += 0 < len(fit) < FEWEST
        for label_day, ticker, y in there:
            known = [label for other_day, _, label in there if other_day <= label_day]
            found = spread(known)
            if ticker not in fit or found is None or found[1] <= 1e-12 * max(abs(label) for label in known):
                continue
            targets[ticker, d] = max(-5.0, min(5.0, (y - found[0]) / found[1]))
    dates = list(by_date)
    widths = {d: width_at(dates, by_date, d) for d in {d for rows in tickers.values() for d in rows["x"]}}
    return targets, widths, thin


def level_at(tickers, targets, until):
    """The mean of the labels with a target that are known at the close of `until`; of all if that is None."""
    known = sorted(
        (tickers[ticker]["label_day"][d], d, ticker)
        for ticker, d in targets
        if until is None or tickers[ticker]["label_day"][d] <= until
    )
    total = 0.0
    for _, d, ticker in known:
        total += tickers[ticker]["label"][d]
    return total / len(known)


def filled(train, test):
    for column in range(train.shape[1]):
        known = train[~np.isnan(train[:, column]), column]
        value = known.mean() if len(known) else 0.0
        for part in (train, test):
            part[np.isnan(part[:, column]), column] = value


def fit_and_predict(params, train, y, test):
    filled(train, test)
    train, test = scaled(params.get("scaler", "none"), train, test)
    model = regressor(params["model"], params.get("model_params", {}))
    model.fit(train, y)
    return [float(value) for value in model.predict(test)]


def latest(dates, end, delay):
    """When the labels of a fold's test rows have to be known: `delay` dates after the first date of the next fold."""
    return dates[end + delay] if end + delay < len(dates) else math.inf


class Job:
    def __init__(self, params, tickers, everyone, targets, widths):
        self.params, self.tickers, self.everyone, self.targets, self.widths = params, tickers, everyone, targets, widths
        self.size, self.splits = params.get("cv_test_size", 15), params.get("n_splits", 15)
        self.delay = params.get("delay", 0)
        self.levels = {}

    def target(self, ticker, d):
        return self.tickers[ticker]["label"][d] if self.targets is None else self.targets[ticker, d]

    def returned(self, ticker, d, predicted, until):
        if self.targets is None:
            return predicted
        if until not in self.levels:
            self.levels[until] = level_at(self.everyone, self.targets, until)
        return self.levels[until] + self.widths[d] * predicted

    def fit(self, train, test, columns):
        def matrix(keys):
            rows = []
            for ticker, d in keys:
                own = dict(zip(self.tickers[ticker]["columns"], self.tickers[ticker]["x"][d]))
                rows.append([own.get(name, math.nan) for name in columns])
            return np.array(rows, dtype=np.float64)

        y = np.array([self.target(*key) for key in train])
        predicted = fit_and_predict(self.params, matrix(train), y, matrix(test or train[:1]))
        return dict(zip(test, predicted))

    def per_ticker(self):
        results = {}
        for ticker, rows in self.tickers.items():
            fit, folds = rows["fit"], []
            for start, end in folds_of(len(fit), self.size, self.splits, self.delay):
                test = [(ticker, d) for d in fit[start:end]]
                train = known_by(rows, fit[:start], fit[start])
                got = self.fit([(ticker, d) for d in train], test, rows["columns"])
                folds.append((len(train), [(d, self.returned(ticker, d, got[ticker, d], fit[start])) for _, d in test]))
            got = self.fit([(ticker, d) for d in fit], [(ticker, d) for d in rows["score"]], rows["columns"])
            score = [(d, self.returned(ticker, d, p, None)) for (_, d), p in got.items()]
            results[ticker] = (folds, score)
        return results, None

    def pooled(self):
        columns = []
        for ticker in sorted(self.tickers):
            columns += [name for name in self.tickers[ticker]["columns"] if name not in columns]

        def day_of(key):
            return self.tickers[key[0]]["label_day"][key[1]]

        train = sorted(
            ((t, d) for t, rows in self.tickers.items() for d in rows["fit"]), key=lambda key: (day_of(key), key[1], key[0])
        )
        score = sorted(((t, d) for t, rows in self.tickers.items() for d in rows["score"]), key=lambda key: key[::-1])
        dates = sorted({d for _, d in train})
        results = {ticker: ([], []) for ticker in self.tickers}
        fold_rows = []
        for start, end in folds_of(len(dates), self.size, self.splits, self.delay):
            first, test_dates = dates[start], dates[start:end]
            known = [key for key in train if day_of(key) <= first]
            test = [key for key in train if key[1] in test_dates and day_of(key) <= latest(dates, end, self.delay)]
            fold_rows.append(len(known))
            got = self.fit(known, test, columns)
            for ticker in self.tickers:
                own = sum(1 for t, _ in known if t == ticker)
                tested = [(d, self.returned(ticker, d, got[ticker, d], first)) for d in self.tickers[ticker]["fit"] if (ticker, d) in got]
                if own >= MINIMUM_FIT_ROWS and tested:
                    results[ticker][0].append((own, tested))
        for (ticker, d), predicted in self.fit(train, score, columns).items():
            results[ticker][1].append((d, self.returned(ticker, d, predicted, None)))
        return results, {"fit_rows": len(train), "features": len(columns), "fold_rows": fold_rows}


def prepared(params, tickers):
    """What a Job takes after `params`, with the tickers that fail and the counts of rows on thin dates."""
    failures, thin = set(), []
    if params.get("cross_section"):
        tickers, count = z_scored(tickers)
        thin += [count] if count else []
        failures |= {ticker for ticker, rows in tickers.items() if len(rows["fit"]) < MINIMUM_FIT_ROWS}
        tickers = {ticker: rows for ticker, rows in tickers.items() if ticker not in failures}
    everyone, targets, widths = tickers, None, None
    if params.get("target") == "relative":
        targets, widths, count = relative(tickers)
        thin += [count] if count else []
        tickers = {
            ticker: {**rows, "fit": [d for d in rows["fit"] if (ticker, d) in targets]} for ticker, rows in tickers.items()
        }
        short = {ticker for ticker, rows in tickers.items() if len(rows["fit"]) < MINIMUM_FIT_ROWS}
        failures |= short
        tickers = {ticker: rows for ticker, rows in tickers.items() if ticker not in short}
    return (tickers, everyone, targets, widths), failures, thin


def run(params, tickers):
    parts, failures, thin = prepared(params, tickers)
    job = Job(params, *parts)
    results, pooled = job.pooled() if params.get("fit") == "pooled" else job.per_ticker()
    return {
        "failures": failures,
        "thin": thin,
        "pooled": pooled,
        "tickers": {
            ticker: {
                "folds": [own for own, _ in folds],
                "out_of_fold": [[iso(d), p] for _, tested in folds for d, p in tested],
                "score": [[iso(d), p] for d, p in score],
            }
            for ticker, (folds, score) in sorted(results.items())
        },
    }


def answer_requests(run, with_late=False):
    """Reads the requests and prints what `run(params, tickers)` answers to each config.

    With `with_late`, it also gets the tickers with too few rows: each as a function that returns the rows for another cut.
    """
    warnings.simplefilter("ignore")
    results = []
    for entry in json.load(open(sys.argv[1], encoding="utf-8")):
        bounds, prices = read_prices(entry["prices"])
        features, feature_days = read_features(entry["features"])
        start, end, learning_end, _ = resolve_window(bounds, prices)
        cut = end if learning_end is None else learning_end
        both = sorted(set(prices) & set(features))
        answers = []
        for config in entry["configs"]:
            params = json.loads(config)["ML params"]

            def rows_until(ticker, delay=params.get("delay", 0)):
                def rows(until):
                    return rows_of(prices[ticker], features[ticker], feature_days, start, end, until, delay)

                rows.cut = cut
                return rows

            rows = {t: rows_until(t)(cut) for t in both}
            short = {t for t in both if len(rows[t]["fit"]) < MINIMUM_FIT_ROWS or not rows[t]["columns"]}
            kept = {t: rows[t] for t in both if t not in short}
            late = [{t: rows_until(t) for t in short}] if with_late else []
            answer = run(params, kept, *late)
            answers.append({**answer, "failures": sorted(answer["failures"] | (short - set(answer["tickers"])))})
        results.append(answers)
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    answer_requests(run)
