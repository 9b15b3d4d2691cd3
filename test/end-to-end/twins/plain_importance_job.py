"""The slow, obvious twin of `importance`, written from docs/semantics.md.

It shares rows, folds and regressors with plain_pooled_job.py, and shares no code with mucast or its engine. Usage:
`python plain_importance_job.py REQUEST.json`, as for plain_job.py.
"""

import math
from itertools import groupby

import numpy as np
from plain_models import regressor, scaled
from plain_pooled_job import FEWEST, Job, answer_requests, filled, prepared
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata

MINIMUM_DATES, LAG = 30, 5


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


def groups_of(tickers, is_pooled):
    """The names of each group; with fewer than 20,000 rows, all of them are compared."""
    names = names_of(tickers)
    parts = [
        [(ticker, d) for d in tickers[ticker]["fit"]] for ticker in sorted(tickers)
    ]
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
    distances = np.zeros((len(names), len(names)))
    for a, first in enumerate(names):
        for b, second in enumerate(names):
            rows = there[:, a] & there[:, b]
            size = math.sqrt((ranks[rows, a] ** 2).sum() * (ranks[rows, b] ** 2).sum())
            together = {first, second} in (
                {name, f"{name} (z)"} for name in (first, second)
            )
            if a != b and not together:
                distances[a, b] = (
                    1 - abs((ranks[rows, a] * ranks[rows, b]).sum()) / size
                    if size > 0
                    else 1
                )
    distances = (distances + distances.T) / 2
    labels = fcluster(
        linkage(squareform(distances, checks=False), "average"), 0.3, "distance"
    )
    clusters = {}
    for name, label in zip(names, labels):
        clusters.setdefault(label, []).append(name)
    return list(clusters.values())


class ImportanceJob(Job):
    """A job whose folds also predict with each group shuffled."""

    def __init__(self, params, tickers, everyone, targets, widths):
        super().__init__(params, tickers, everyone, targets, widths)
        self.is_pooled = params.get("fit") == "pooled"
        self.groups = groups_of(tickers, self.is_pooled)
        self.shuffled = [{} for _ in self.groups]

    def fit(self, train, test, columns):
        got = super().fit(train, test, columns)
        if not test or not set(test) <= {
            (t, d) for t, rows in self.tickers.items() for d in rows["fit"]
        }:
            return got
        x, rows = (
            matrix_of(self.tickers, train, columns),
            matrix_of(self.tickers, test, columns),
        )
        filled(x, rows)
        x, rows = scaled(self.params.get("scaler", "none"), x, rows)
        model = regressor(self.params["model"], self.params.get("model_params", {}))
        model.fit(x, np.array([self.target(*key) for key in train]))
        sizes = (
            [len(list(same)) for _, same in groupby(d for _, d in test)]
            if self.is_pooled
            else [len(test)]
        )
        seed = [] if self.is_pooled else list(test[0][0].encode())
        known = test[0][1] if not self.is_pooled else self.first_of(test)
        for g, group in enumerate(self.groups):
            random = np.random.default_rng([*seed, len(train), g])
            order = []
            for size in sizes:
                order += list(len(order) + random.permutation(size))
            own = rows.copy()
            for c, name in enumerate(columns):
                if name in group:
                    own[:, c] = rows[order, c]
            for key, value in zip(test, model.predict(own)):
                self.shuffled[g][key] = self.returned(*key, float(value), known)
        return got

    @staticmethod
    def first_of(test):
        """The first test date."""
        return min(d for _, d in test)


def rank_ics(forecasts, labels, dates):
    """By date; 0 if the forecasts do not differ."""
    result = []
    for keys in dates:
        p = rankdata([forecasts[key] for key in keys])
        y = rankdata([labels[key] for key in keys])
        result.append(float(np.corrcoef(p, y)[0, 1]) if len(set(p)) > 1 else 0.0)
    return result


def products(forecasts, labels, keys):
    """By date: the mean over tickers of standardised forecast times standardised label."""
    by_date = {}
    for ticker in sorted({ticker for ticker, _ in keys}):
        own = [key for key in keys if key[0] == ticker]
        sides = [
            np.array([values[key] for key in own]) for values in (forecasts, labels)
        ]
        if any(len(side) < 2 or side.std(ddof=1) == 0 for side in sides):
            continue
        p, y = [(side - side.mean()) / side.std(ddof=1) for side in sides]
        for key, product in zip(own, p * y):
            by_date.setdefault(key[1], []).append(product)
    return {d: float(np.mean(values)) for d, values in by_date.items()}


def newey_west_t(values):
    n, centre = len(values), float(np.mean(values))
    away = [value - centre for value in values]
    variance = 0.0
    for j in range(LAG + 1):
        weight = 1 if j == 0 else 2 * (1 - j / (LAG + 1))
        variance += weight * sum(away[i] * away[i - j] for i in range(j, n)) / n
    return centre / math.sqrt(variance / n) if variance > 1e-20 else None


def run(params, tickers):
    parts, failures, _ = prepared(params, tickers)
    tickers = parts[0]
    job = ImportanceJob(params, *parts)
    results, _ = job.pooled() if job.is_pooled else job.per_ticker()
    own = {
        (t, d): p
        for t, (folds, _) in results.items()
        for _, tested in folds
        for d, p in tested
    }
    labels = {(t, d): tickers[t]["label"][d] for t, d in own}
    days = sorted({d for _, d in own})
    by_date = [sorted(key for key in own if key[1] == d) for d in days]
    dates = [
        keys
        for keys in by_date
        if len(keys) >= FEWEST and len({labels[key] for key in keys}) > 1
    ]
    if len(dates) >= MINIMUM_DATES:
        form = "cross_section"
        whole = rank_ics(own, labels, dates)
        shuffled = [rank_ics(forecasts, labels, dates) for forecasts in job.shuffled]
    else:
        form = "time_series"
        by_day = products(own, labels, own)
        whole = [by_day[d] for d in sorted(by_day)]
        of_groups = [products(forecasts, labels, own) for forecasts in job.shuffled]
        shuffled = [[group.get(d, 0.0) for d in sorted(by_day)] for group in of_groups]
    groups = []
    for names, values in zip(job.groups, shuffled):
        losses = [a - b for a, b in zip(whole, values)]
        groups.append(
            {
                "features": names,
                "loss": float(np.mean(losses)),
                "t": newey_west_t(losses),
            }
        )
    groups.sort(key=lambda group: -group["loss"])
    return {
        "failures": failures,
        "tickers": {},
        "form": form,
        "dates": len(whole),
        "figure": float(np.mean(whole)),
        "groups": groups,
    }


if __name__ == "__main__":
    answer_requests(run)
