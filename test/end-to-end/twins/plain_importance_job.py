"""The slow, obvious twin of `importance`, written from docs/semantics.md.

It shares rows, folds and regressors with plain_pooled_job.py, and shares no code with mucast or its engine. Usage:
`python plain_importance_job.py REQUEST.json`, as for plain_job.py.
"""

import math

import numpy as np
from plain_models import regressor, scaled
from plain_pooled_job import FEWEST, Job, answer_requests, filled, prepared
from plain_worth import method_of, t_of_mean
from scipy.stats import rankdata

MINIMUM_DATES = 30


def names_of(tickers):
    names = []
    for ticker in sorted(tickers):
        names += [name for name in tickers[ticker]["columns"] if name not in names]
    return names


def matrix_of(tickers, keys, names):
    rows = []
    for ticker, d in keys:
        own = dict(zip(tickers[ticker]["columns"], tickers[ticker]["x"][d]))
        rows.append([own.get(name, math.nan) for name in names])
    return np.array(rows, dtype=np.float64)


def groups_of(tickers, is_pooled, has_scores):
    """The features and the correlation of each group; with fewer than 20,000 rows, all of them are compared."""
    names = names_of(tickers)
    parts = [[(ticker, d) for d in tickers[ticker]["fit"]] for ticker in sorted(tickers)]
    ranks, there = [], []
    for keys in [sum(parts, [])] if is_pooled else parts:
        values = matrix_of(tickers, keys, names)
        has = ~np.isnan(values)
        own = np.zeros_like(values)
        for c in range(len(names)):
            if has[:, c].any():
                rank = rankdata(values[has[:, c], c])
                own[has[:, c], c] = (rank - rank.mean()) / len(rank)
        ranks.append(own)
        there.append(has)
    ranks, there = np.concatenate(ranks), np.concatenate(there)
    distances = np.ones((len(names), len(names)))
    for a in range(len(names)):
        for b in range(len(names)):
            rows = there[:, a] & there[:, b]
            size = math.sqrt((ranks[rows, a] ** 2).sum() * (ranks[rows, b] ** 2).sum())
            if size > 0:
                distances[a, b] = 1 - abs((ranks[rows, a] * ranks[rows, b]).sum()) / size
    return clusters(distances, names, has_scores)


def clusters(distances, names, has_scores):
    """The two nearest clusters are merged again and again; a feature and its z-score begin as one."""

    def distance(one, other):
        return float(np.mean([distances[a, b] for a in one for b in other]))

    parts, joined = [[c] for c in range(len(names))], {}
    for c, name in enumerate(names):
        if has_scores and f"{name} (z)" in names:
            z = names.index(f"{name} (z)")
            parts = [part for part in parts if part not in ([c], [z])] + [[c, z]]
            joined[c, z] = distances[c, z]
    while len(parts) > 1:
        nearest, a, b = min((distance(a, b), a, b) for i, a in enumerate(parts) for b in parts[:i])
        if nearest > 0.3:
            break
        both = sorted(a + b)
        parts = [part for part in parts if part not in (a, b)] + [both]
        joined[tuple(both)] = nearest
    groups = []
    for part in sorted(parts):
        correlation = {"correlation": 1 - joined[tuple(part)]} if len(part) > 1 else {}
        groups.append({"features": [names[c] for c in part], **correlation})
    return groups


def draw(seed, pool, wanted, stratum):
    """For each wanted key, one of the pool with the same stratum, none twice."""
    random, drawn = np.random.default_rng(seed), {}
    for s in sorted({stratum(key) for key in wanted}):
        own = [key for key in wanted if stratum(key) == s]
        there = [i for i, key in enumerate(pool) if stratum(key) == s]
        for key, i in zip(own, random.permutation(there)):
            drawn[key] = pool[i]
    return [drawn[key] for key in wanted]


class CountingJob(Job):
    """A job that predicts zeros."""

    def fit(self, train, test, columns):
        return {key: 0.0 for key in test}


class ImportanceJob(Job):
    """A job whose folds also predict with each group shuffled."""

    def __init__(self, params, *parts):
        super().__init__(params, *parts)
        self.is_pooled = params.get("fit") == "pooled"
        self.groups = groups_of(self.tickers, self.is_pooled, params.get("cross_section", False))
        self.shuffled = [{} for _ in self.groups]
        counting = CountingJob(params, *parts)
        results, _ = counting.pooled() if self.is_pooled else counting.per_ticker()
        tested = [d for folds, _ in results.values() for _, rows in folds for d, _ in rows]
        self.is_wide = sum(tested.count(d) >= FEWEST for d in set(tested)) >= MINIMUM_DATES

    def fit(self, train, test, columns):
        got = super().fit(train, test, columns)
        if all(key[1] in self.tickers[key[0]]["fit"] for key in test) and test:
            self.shuffle(train, test, columns)
        return got

    def shuffle(self, train, test, columns):
        def matrices(rows):
            x = matrix_of(self.tickers, train, columns)
            filled(x, rows)
            return scaled(self.params.get("scaler", "none"), x, rows)

        x, _ = matrices(matrix_of(self.tickers, test, columns))
        model = regressor(self.params["model"], self.params.get("model_params", {}))
        model.fit(x, np.array([self.target(*key) for key in train]))
        is_across = self.is_pooled and self.is_wide
        pool = test if is_across else train + test
        seed = [] if self.is_pooled else list(test[0][0].encode())
        tickers = sorted(self.tickers)
        known = min(d for _, d in test)
        for g, group in enumerate(self.groups):
            source = draw(
                [*seed, len(train), g],
                pool,
                test,
                lambda key: key[1] if is_across else tickers.index(key[0]),
            )
            rows = matrix_of(self.tickers, test, columns)
            other = matrix_of(self.tickers, source, columns)
            for c, name in enumerate(columns):
                if name in group["features"]:
                    rows[:, c] = other[:, c]
            for key, value in zip(test, model.predict(matrices(rows)[1])):
                self.shuffled[g][key] = self.returned(*key, float(value), known)


def rank_ics(forecasts, labels, dates):
    """By date; 0 if the forecasts do not differ."""
    result = []
    for keys in dates:
        p = rankdata([forecasts[key] for key in keys])
        y = rankdata([labels[key] for key in keys])
        result.append(float(np.corrcoef(p, y)[0, 1]) if len(set(p)) > 1 else 0.0)
    return result


def signed_returns(forecasts, tickers, folds):
    """By date: the mean over tickers of the return on the side of the forecast, beside the mean of its fold so far."""
    by_date = {}
    for ticker in sorted(folds):
        rows = tickers[ticker]
        deviation = float(np.std([rows["label"][d] for d in rows["fit"]]))
        seen = 0
        for days in folds[ticker]:
            for i, d in enumerate(days):
                seen += 1
                if i == 0 or seen <= 5 or deviation == 0:
                    continue
                centre = float(np.mean([forecasts[ticker, day] for day in days[: i + 1]]))
                away = forecasts[ticker, d] - centre
                side = 0.0 if abs(away) <= 1e-6 * abs(centre) else math.copysign(1, away)
                by_date.setdefault(d, []).append(side * rows["label"][d] / deviation)
    return [float(np.mean(by_date[d])) for d in sorted(by_date)]


def run(params, tickers):
    parts, failures, _ = prepared(params, tickers)
    tickers = parts[0]
    job = ImportanceJob(params, *parts)
    results, _ = job.pooled() if job.is_pooled else job.per_ticker()
    own = {(t, d): p for t, (folds, _) in results.items() for _, tested in folds for d, p in tested}
    labels = {(t, d): tickers[t]["label"][d] for t, d in own}
    if job.is_wide:
        form = "cross_section"
        by_date = [sorted(key for key in own if key[1] == d) for d in sorted({d for _, d in own})]
        dates = [keys for keys in by_date if len(keys) >= FEWEST and len({labels[key] for key in keys}) > 1]
        figures = [rank_ics(forecasts, labels, dates) for forecasts in [own, *job.shuffled]]
    else:
        form = "time_series"
        days = {t: [[d for d, _ in tested] for _, tested in folds] for t, (folds, _) in results.items() if folds}
        figures = [signed_returns(forecasts, tickers, days) for forecasts in [own, *job.shuffled]]
    whole, *shuffled = figures
    groups = []
    for group, values in zip(job.groups, shuffled):
        losses = [a - b for a, b in zip(whole, values)]
        groups.append({**group, "loss": float(np.mean(losses)), "t": t_of_mean(losses)})
    groups.sort(key=lambda group: -group["loss"])
    figure = float(np.mean(whole))
    return {"failures": failures, "tickers": {}, "form": form, "dates": len(whole), "figure": figure, "method": method_of(len(whole)), "groups": groups}


if __name__ == "__main__":
    answer_requests(run)
