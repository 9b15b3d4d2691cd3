"""The slow, obvious twin of run_ml_job with `refit_every` and `window`, written from docs/semantics.md.

It takes rows, z-scores, targets and regressors from plain_pooled_job.py, and shares no code with mucast or its engine. Usage:
`python plain_refit_job.py REQUEST.json`, as for plain_job.py.
"""

import math

import numpy as np
from plain_intervals import ends_by_method, score_rows, settings_of
from plain_models import MINIMUM_FIT_ROWS, folds_of, known_by
from plain_rows import iso
from plain_pooled_job import (
    answer_requests,
    compared,
    fit_and_predict,
    labels_by_date,
    latest,
    relative,
    spread,
    width_at,
    z_scored,
)
from plain_worth import shrinkage_table


def blocks_of(tickers, every):
    """The dates of each block, ascending."""
    last = max(rows["label_day"][rows["fit"][-1]] for rows in tickers.values())
    dates = sorted({d for rows in tickers.values() for d in rows["score"]})
    early, counted = [d for d in dates if d < last], [d for d in dates if d >= last]
    if every is None:
        return [dates]
    blocks = [counted[i : i + every] for i in range(0, len(counted), every)] or [[]]
    return [early + blocks[0], *blocks[1:]]


class Job:
    def __init__(self, params, tickers, everyone, targets, widths, blocks=None):
        self.params, self.tickers, self.everyone, self.targets, self.widths = params, dict(tickers), everyone, targets, widths
        self.pooled, self.joins = params.get("fit") == "pooled", {}
        self.size, self.splits = params.get("cv_test_size", 15), params.get("n_splits", 15)
        self.window, self.delay = params.get("window"), params.get("delay", 0)
        # Blocks whose slope is negative by more than chance.
        self.negative = 0
        self.blocks = blocks or blocks_of(tickers, params.get("refit_every"))

    def join_late(self, late, comparison, targets_of):
        """Adds the tickers that have too few rows at the cut, each at its first block with enough, and with the features that
        it had when it first had enough."""
        for ticker, rows_until in late.items():
            days = [d for d in rows_until(rows_until.cut)["price_days"] if d > rows_until.cut]
            found = (rows_until(d) for d in days)
            rows = next((own for own in found if own["columns"] and len(own["fit"]) >= MINIMUM_FIT_ROWS), None)
            if rows is None:
                continue
            if comparison is not None:
                rows = z_scored({ticker: rows}, comparison)[0][ticker]
            own = targets_of(ticker, rows) if self.targets is not None else {}
            whole = rows["fit"] + rows["later"]
            learned = [d for d in whole if d in rows["label"] and (self.targets is None or (ticker, d) in own)]
            for dates in self.blocks[1:]:
                fit = [d for d in learned if rows["label_day"][d] <= dates[0]]
                if len(fit) < MINIMUM_FIT_ROWS:
                    continue
                score, later = [d for d in whole if d >= dates[0]], [d for d in whole if d > fit[-1]]
                if score or self.pooled:
                    self.tickers[ticker] = {**rows, "fit": fit, "score": score, "later": later}
                    self.joins[ticker] = dates[0]
                    if self.targets is not None:
                        self.targets.update(own)
                break

    def known(self, ticker, d):
        """The date from which a row may be used for training: in a pooled fit not before the ticker joins."""
        day = self.tickers[ticker]["label_day"][d]
        return max(day, self.joins[ticker]) if self.pooled and ticker in self.joins else day

    def order(self, key):
        ticker, d = key
        if self.pooled and d < self.joins.get(ticker, 0):
            return self.known(ticker, d), 0, ticker, d
        return self.known(ticker, d), 1, d, ticker

    def has_joined(self, ticker, dates):
        return ticker not in self.joins or self.joins[ticker] <= dates[0]

    def learnable(self):
        """Every fit row and every later row with something to learn."""
        for ticker, rows in self.tickers.items():
            for d in rows["fit"] + rows["later"]:
                if d in rows["label"] and (self.targets is None or (ticker, d) in self.targets):
                    yield ticker, d

    def fit_rows(self):
        return [(ticker, d) for ticker, rows in self.tickers.items() if ticker not in self.joins for d in rows["fit"]]

    def level(self, until):
        """For the fit rows if `until` is None."""
        known = []
        for ticker, d in self.targets:
            if ticker in self.joins:
                continue
            rows = self.everyone[ticker]
            if (d <= rows["fit"][-1]) if until is None else (rows["label_day"][d] <= until):
                known.append((rows["label_day"][d], d, ticker))
        total = 0.0
        for _, d, ticker in sorted(known):
            total += self.everyone[ticker]["label"][d]
        return total / len(known)

    def returned(self, keys, predicted, until):
        level = 0.0 if self.targets is None else self.level(until)
        self.levels |= {key: level for key in keys}
        if self.targets is None:
            return dict(zip(keys, predicted))
        return {key: level + self.widths[key[1]] * p for key, p in zip(keys, predicted)}

    def in_window(self, train):
        if self.window is None:
            return train
        dates = sorted({self.known(*key) for key in train})[-self.window :]
        return [key for key in train if self.known(*key) >= dates[0]]

    def fit(self, train, test, columns):
        def matrix(keys):
            rows = []
            for ticker, d in keys:
                own = dict(zip(self.tickers[ticker]["columns"], self.tickers[ticker]["x"][d]))
                rows.append([own.get(name, math.nan) for name in columns])
            return np.array(rows, dtype=np.float64)

        if not test:
            return []
        train = sorted(train, key=self.order)
        y = [self.tickers[t]["label"][d] if self.targets is None else self.targets[t, d] for t, d in train]
        return fit_and_predict(self.params, matrix(train), np.array(y), matrix(test))

    def folds_of_ticker(self, ticker):
        """Training rows, test rows and the close at which the training labels are known."""
        fit = [] if ticker in self.joins else self.tickers[ticker]["fit"]
        for start, end in folds_of(len(fit), self.size, self.splits, self.delay):
            known = known_by(self.tickers[ticker], fit[:start], fit[start])
            train = self.in_window([(ticker, d) for d in known])
            yield train, [(ticker, d) for d in fit[start:end]], fit[start]

    def pooled_folds(self):
        fit = self.fit_rows()
        dates = sorted({d for _, d in fit})
        for start, end in folds_of(len(dates), self.size, self.splits, self.delay):
            train = self.in_window([key for key in fit if self.known(*key) <= dates[start]])
            by = latest(dates, end, self.delay)
            yield train, [key for key in fit if key[1] in dates[start:end] and self.known(*key) <= by], dates[start]

    def run(self):
        pools = [sorted(self.tickers)] if self.pooled else [[t] for t in sorted(self.tickers)]
        self.result = {ticker: {"folds": [], "score": [], "means": []} for ticker in self.tickers}
        self.block_rows = [0 for _ in self.blocks]
        # The level of each forecast.
        self.levels = {}
        for names in pools:
            self.run_together(names)
        return self.result

    def run_together(self, names):
        columns = []
        for ticker in names:
            if self.pooled and ticker in self.joins:
                continue
            columns += [name for name in self.tickers[ticker]["columns"] if name not in columns]
        folds = self.pooled_folds() if self.pooled else self.folds_of_ticker(names[0])
        for train, test, first in folds:
            got = self.returned(test, self.fit(train, test, columns), first)
            for ticker in names:
                own = [d for t, d in train if t == ticker]
                tested = [(d, got[t, d]) for t, d in test if t == ticker]
                if len(own) >= MINIMUM_FIT_ROWS and tested:
                    self.result[ticker]["folds"].append((own, tested))
        self.score(names, columns)

    def out_of_fold(self, ticker):
        return [row for _, tested in self.result[ticker]["folds"] for row in tested]

    def score(self, names, columns):
        for b, dates in enumerate(self.blocks):
            until = None if b == 0 else dates[0]
            joined = [t for t in names if b > 0 or t not in self.joins]
            joined = [t for t in joined if self.has_joined(t, dates)]
            rows = self.fit_rows() if b == 0 else [key for key in self.learnable() if self.known(*key) <= dates[0]]
            train = self.in_window([key for key in rows if key[0] in joined])
            test = [(t, d) for d in dates for t in joined if d in self.tickers[t]["score"]]
            begins = {t for t in names if b == 0 and t not in self.joins or b > 0 and self.joins.get(t) == dates[0]}
            if not test and not begins:
                for ticker in names:
                    self.result[ticker]["means"].append(None)
                continue
            self.block_rows[b] += len(train)
            got = self.returned(test, self.fit(train, test, columns), until)
            for ticker in names:
                own = [self.tickers[t]["label"][d] for t, d in train if t == ticker]
                has_rows = ticker in begins or any(t == ticker for t, _ in test)
                self.result[ticker]["means"].append((math.fsum(own) / len(own) if own else 0.0) if has_rows else None)
                self.result[ticker]["score"] += [(d, b, got[t, d]) for t, d in test if t == ticker]

    def common_levels(self):
        """The level by date, of out-of-fold rows and of score rows: the mean over the tickers that have one."""
        found = []
        for rows_of in (self.out_of_fold, lambda ticker: [(d, p) for d, _, p in self.result[ticker]["score"]]):
            by_date = {}
            for ticker in sorted(self.result):
                for d, _ in rows_of(ticker):
                    by_date.setdefault(d, []).append(self.levels[ticker, d])
            found.append({d: math.fsum(levels) / len(levels) for d, levels in by_date.items()})
        return found

    def shrink(self):
        """The pooled factor of each block."""
        factors = []
        tested_levels, score_levels = self.common_levels()
        for b, dates in enumerate(self.blocks):
            rows = {}
            for ticker, own in self.result.items():
                label = self.tickers[ticker]["label"]
                seen = [(d, p, tested_levels[d]) for d, p in self.out_of_fold(ticker)] + [
                    (d, p, score_levels[d])
                    for d, _, p in own["score"]
                    if b > 0 and d in label and self.known(ticker, d) <= dates[0]
                ]
                rows[ticker] = [(d, label[d], p, level) for d, p, level in seen]
            slope = shrinkage_table(rows)["by_date"]
            factors.append(slope["s"])
            self.negative += slope["se"] is not None and slope["b"] + 1.86 * slope["se"] < 0
        return factors


def shrunk(p, level, factor):
    return p if factor == 1 else level + factor * (p - level)


def published(job, params):
    """Score rows after shrinkage, with the ends of their intervals."""
    factors = job.shrink() if params.get("shrinkage") == "pooled" else [1.0] * len(job.blocks)
    tested_levels, score_levels = job.common_levels()
    settings = settings_of(params.get("intervals"))
    tickers = {}
    for ticker, own in sorted(job.result.items()):
        if ticker in job.joins and not own["score"]:
            continue
        rows = job.tickers[ticker]
        score = [(d, shrunk(p, score_levels[d], factors[b])) for d, b, p in own["score"]]
        ends = ([None] * len(score), [None] * len(score))
        if settings is not None:
            pairs = [(rows["label"][d], shrunk(p, tested_levels[d], factors[0])) for d, p in job.out_of_fold(ticker)]
            dated = score_rows(rows, score)
            ends = ends_by_method(pairs, dated, settings["alpha"], settings["bound"])[settings["method"]]
        tickers[ticker] = {
            "folds": [len(train) for train, _ in own["folds"]],
            "out_of_fold": [[iso(d), p] for d, p in job.out_of_fold(ticker)],
            "score": [[iso(d), p] for d, p in score],
            "lower": ends[0],
            "upper": ends[1],
            "label_means": own["means"],
            "joins": iso(job.joins[ticker]) if ticker in job.joins else None,
        }
    return tickers, factors


def prepared(params, tickers, late, blocks=None, kind=Job):
    """A job that has not run yet, and the tickers with too few rows left."""
    failures, before = set(), tickers
    if params.get("cross_section"):
        tickers, _ = z_scored(tickers)
        failures |= {ticker for ticker, rows in tickers.items() if len(rows["fit"]) < MINIMUM_FIT_ROWS}
        tickers = {ticker: rows for ticker, rows in tickers.items() if ticker not in failures}
    everyone, targets, widths = tickers, None, None
    if params.get("target") == "relative":
        targets, widths = relative_of_all(tickers)
        tickers = {
            ticker: {**rows, "fit": [d for d in rows["fit"] if (ticker, d) in targets]} for ticker, rows in tickers.items()
        }
        short = {ticker for ticker, rows in tickers.items() if len(rows["fit"]) < MINIMUM_FIT_ROWS}
        failures |= short
        tickers = {ticker: rows for ticker, rows in tickers.items() if ticker not in short}
    job = kind(params, tickers, everyone, targets, widths, blocks)

    def targets_of(ticker, rows):
        """The targets of a ticker that does not count towards the means and deviations of the others."""
        own = {}
        for d in rows["x"]:
            if d not in widths:
                widths[d] = width_at(list(by_date), by_date, d)
            if d not in rows["label"]:
                continue
            labels = [label for known, _, label in by_date.get(d, []) if known <= rows["label_day"][d]]
            found = spread(labels)
            if found is not None and found[1] > 1e-12 * max(abs(label) for label in labels):
                own[ticker, d] = max(-5.0, min(5.0, (rows["label"][d] - found[0]) / found[1]))
        return own

    if params.get("refit_every"):
        by_date = labels_by_date(everyone)
        job.join_late(late, compared(before) if params.get("cross_section") else None, targets_of)
    return job, failures


def run(params, tickers, late):
    job, failures = prepared(params, tickers, late)
    job.run()
    told, factors = published(job, params)
    return {
        "failures": failures,
        "tickers": told,
        "factors": factors,
        "negative_slope": job.negative,
        "blocks": [
            {"start": iso(dates[0]), "end": iso(dates[-1]), "fit_rows": rows} for dates, rows in zip(job.blocks, job.block_rows)
        ],
    }


def relative_of_all(tickers):
    """Targets of fit rows and of labelled later rows, and widths by date."""
    targets, widths, _ = relative({t: {**rows, "fit": rows["fit"] + rows["later"]} for t, rows in tickers.items()})
    return targets, widths


if __name__ == "__main__":
    answer_requests(run, with_late=True)
