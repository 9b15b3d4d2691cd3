"""The slow, obvious twin of run_ml_job with `choice`, written from docs/semantics.md, without the draws of candidates.

Each candidate's own forecasts are those of plain_refit_job.py. It shares no code with mucast or its engine. Usage:
`python plain_choice_job.py REQUEST.json`, as for plain_job.py.
"""

import copy
import itertools
import math
from functools import cache

from plain_pooled_job import answer_requests
from plain_refit_job import Job, blocks_of, prepared, published
from plain_rows import MAX_GAP, iso
from plain_worth import error_of_mean, quantile_of_mean

MIN_ROWS = 30


def expanded(params):
    """The settings of every candidate, number 0 first."""
    own = {name: value for name, value in params.items() if name != "choice"}
    candidates = [own]
    for entry in params["choice"]["candidates"]:
        entry = dict(entry)
        grid = entry.pop("grid", {})
        inherited = {**own, **({"model_params": {}} if "model" in entry else {}), **entry}
        for values in itertools.product(*grid.values()):
            given = {**inherited.get("model_params", {}), **dict(zip(grid, values))}
            candidates.append({**inherited, "model_params": given})
    return candidates


class Candidate(Job):
    """A job that goes on without the tickers that it cannot fit."""

    def __init__(self, params, tickers, everyone, targets, widths, blocks):
        super().__init__(params, tickers, everyone, targets, widths, blocks)
        self.failed = set()
        if blocks is not None:
            # Another candidate may have score rows on dates that number 0 lacks.
            starts = [0, *(dates[0] for dates in blocks[1:]), math.inf]
            own = sorted({d for rows in self.tickers.values() for d in rows["x"]})
            self.blocks = [[d for d in own if start <= d < following] for start, following in zip(starts, starts[1:])]

    def run_together(self, names):
        try:
            super().run_together(names)
        except Exception:  # Whatever the library raises.
            self.failed |= set(names)

    def has(self, ticker):
        return ticker in self.tickers and ticker not in self.failed and bool(self.result[ticker]["score"])

    def forecasts(self, ticker):
        return dict(self.out_of_fold(ticker)) if self.has(ticker) else {}


def mean(values):
    return math.fsum(values) / len(values)


def error(values):
    """The error of a mean over dates; 0 if all values are equal."""
    return error_of_mean(values) or 0.0


def ic_of(labels, forecasts):
    """Pearson's correlation over the tickers of a date; None with fewer than five, or if all labels are equal."""
    if len(labels) < 5 or max(labels) == min(labels):
        return None
    if max(forecasts) == min(forecasts):
        return 0.0
    y, p = mean(labels), mean(forecasts)
    covariance = math.fsum((a - y) * (b - p) for a, b in zip(labels, forecasts))
    return covariance / math.sqrt(math.fsum((a - y) ** 2 for a in labels) * math.fsum((b - p) ** 2 for b in forecasts))


class Choice:
    def __init__(self, params, candidates):
        self.settings = {"rule": "mean", "warm_up": 15, "measure": "squared_error", **params["choice"]}
        self.candidates, self.numbers = candidates, range(len(candidates))
        self.splits = params.get("n_splits", 15)
        every = sorted({ticker for job in candidates for ticker in job.tickers})
        self.base = {t: next((c for c in self.numbers if candidates[c].has(t)), None) for t in every}
        self.base = {t: c for t, c in self.base.items() if c is not None}
        self.folds = {t: self.folds_of(t) for t in self.base}
        self.by_label_date = {}
        for folds in self.folds.values():
            for fold in folds:
                for row in fold["rows"]:
                    if row["unit"] > 0:
                        self.by_label_date.setdefault(row["known"], []).append(row)
        rows = [row for there in self.by_label_date.values() for row in there]
        counts = [sum(1 for row in rows if c in row["p"]) for c in self.numbers]
        self.reference = counts.index(max(counts))
        self.dates = sorted(self.by_label_date)
        self.excess = [
            {l: e for l in self.dates if (e := self.excess_on(l, c)) is not None} for c in self.numbers
        ]

    def folds_of(self, ticker):
        job = self.candidates[self.base[ticker]]
        rows, folds = job.tickers[ticker], job.result[ticker]["folds"]
        own = [candidate.forecasts(ticker) for candidate in self.candidates]
        unit = mean([rows["label"][d] ** 2 for d in folds[0][0]]) if folds else None
        return [
            {
                "ticker": ticker,
                "train": len(train),
                "start": tested[0][0],
                "published": j >= len(folds) - self.splits,
                "rows": [
                    {
                        "ticker": ticker,
                        "date": d,
                        "known": rows["label_day"][d],
                        "y": rows["label"][d],
                        "unit": unit,
                        "p": {c: own[c][d] for c in self.numbers if d in own[c]},
                        "levels": {c: self.candidates[c].levels[ticker, d] for c in self.numbers if d in own[c]},
                    }
                    for d, _ in tested
                ],
            }
            for j, (train, tested) in enumerate(folds)
        ]

    def loss(self, row, p):
        return (row["y"] - p) ** 2 / row["unit"]

    def excess_on(self, label_date, c):
        both = [row for row in self.by_label_date[label_date] if c in row["p"] and self.reference in row["p"]]
        return self.excess_of([(row, row["p"][c], row["p"][self.reference]) for row in both])

    def excess_of(self, triples):
        """The loss of forecasts p less the loss of forecasts r, over (row, p, r) of one label date."""
        if self.settings["measure"] == "squared_error":
            return mean([self.loss(row, p) - self.loss(row, r) for row, p, r in triples]) if triples else None
        y = [row["y"] for row, _, _ in triples]
        ours, theirs = ic_of(y, [p for _, p, _ in triples]), ic_of(y, [r for _, _, r in triples])
        return None if ours is None else theirs - ours

    def until(self, day):
        """The label dates that are known at the close of a day."""
        return [l for l in self.dates if day is None or l <= day]

    def judged_until(self, day):
        """The known label dates that compare candidates: with measure ic, those with an IC."""
        is_ic = self.settings["measure"] == "ic"
        return [l for l in self.until(day) if not is_ic or l in self.excess[self.reference]]

    def differences(self, a, b, day):
        return [self.excess[a][l] - self.excess[b][l] for l in self.until(day) if l in self.excess[a] and l in self.excess[b]]

    @cache
    def eligible(self, day):
        return [c for c in self.numbers if sum(1 for l in self.until(day) if l in self.excess[c]) >= MIN_ROWS]

    @cache
    def best(self, day):
        best = None
        for c in self.eligible(day):
            if best is None:
                best = c
                continue
            differences = self.differences(c, best, day)
            if differences and mean(differences) < 0:
                best = c
        return 0 if best is None else best

    @cache
    def members(self, day):
        best = self.best(day)
        if not self.eligible(day) or self.settings["rule"] == "best":
            return [best]
        result = []
        for c in self.eligible(day):
            differences = self.differences(c, best, day)
            if differences and mean(differences) <= error(differences):
                result.append(c)
        return result

    @staticmethod
    def combined(forecasts, members):
        used = [forecasts[c] for c in members if c in forecasts] or [forecasts[min(forecasts)]]
        return sum(used) / len(used)

    def merged(self):
        """A job whose forecasts are those of the members."""
        merged = copy.copy(self.candidates[0])
        merged.tickers = {t: self.candidates[c].tickers[t] for t, c in self.base.items()}
        merged.joins = {t: self.candidates[c].joins[t] for t, c in self.base.items() if t in self.candidates[c].joins}
        merged.result, merged.levels = {}, {}
        for ticker, base in self.base.items():
            own = {c: {d: p for d, _, p in job.result[ticker]["score"]} for c, job in enumerate(self.candidates) if job.has(ticker)}
            used = self.members(None)
            merged.result[ticker] = {
                "folds": [
                    ([None] * fold["train"], [(row["date"], row["published_p"]) for row in fold["rows"]])
                    for fold in self.folds[ticker]
                    if fold["published"]
                ],
                "score": [
                    (d, b, self.combined({c: by_date[d] for c, by_date in own.items() if d in by_date}, used))
                    for d, b, _ in self.candidates[base].result[ticker]["score"]
                ],
                "means": [],
            }
            for fold in self.folds[ticker]:
                for row in fold["rows"]:
                    members = self.members(fold["start"])
                    merged.levels[ticker, row["date"]] = self.combined(row["levels"], members)
            for d, _, _ in merged.result[ticker]["score"]:
                levels = {c: self.candidates[c].levels[ticker, d] for c, by_date in own.items() if d in by_date}
                merged.levels[ticker, d] = self.combined(levels, used)
        return merged

    def publish(self):
        for ticker, folds in self.folds.items():
            for fold in folds:
                for row in fold["rows"]:
                    row["published_p"] = self.combined(row["p"], self.members(fold["start"]))

    def worth(self, forecast_of):
        """r2, ic, gain and gain_t of forecasts, on published rows that have one."""
        rows = [row for folds in self.folds.values() for fold in folds if fold["published"] for row in fold["rows"]]
        rows = [row for row in rows if row["unit"] > 0 and forecast_of(row) is not None]
        squares = math.fsum(row["y"] ** 2 / row["unit"] for row in rows)
        by_date = {}
        for row in rows:
            if 0 in row["p"]:
                by_date.setdefault(row["known"], []).append((row, forecast_of(row), row["p"][0]))
        excess = {l: e for l in sorted(by_date) if (e := self.excess_of(by_date[l])) is not None}
        gains = [-e for e in excess.values()]
        own_by_date = {}
        for row in rows:
            own_by_date.setdefault(row["known"], []).append((row["y"], forecast_of(row)))
        ics = [ic_of([y for y, _ in own], [p for _, p in own]) for own in own_by_date.values()]
        ics = [ic for ic in ics if ic is not None]
        is_judged = len(gains) >= MIN_ROWS
        return {
            "r2": 1 - math.fsum(self.loss(row, forecast_of(row)) for row in rows) / squares if squares > 0 else None,
            "ic": mean(ics) if ics else None,
            "gain": mean(gains) if is_judged else None,
            "gain_t": mean(gains) / error(gains) if is_judged and error(gains) > 0 else None,
        }, dict(zip(excess, gains))

    def told(self):
        self.publish()
        honest, gains = self.worth(lambda row: row["published_p"])
        worth = [self.worth(lambda row, c=c: row["p"].get(c))[0] for c in self.numbers]
        best = self.best(None)
        key = "ic" if self.settings["measure"] == "ic" else "r2"
        published_folds = [fold for folds in self.folds.values() for fold in folds if fold["published"]]
        starts = sorted({fold["start"] for fold in published_folds})
        warm_up = [sum(1 for fold in folds if not fold["published"]) for folds in self.folds.values() if folds]
        failed = [sum(1 for t in self.base if not job.has(t)) for job in self.candidates]
        counts = [
            *(("candidate_failed", count) for count in failed),
            ("few_choice_rows", sum(1 for count in warm_up if count < self.settings["warm_up"])),
            ("few_choice_rows", sum(1 for fold in published_folds if len(self.judged_until(fold["start"])) < MIN_ROWS)),
        ]
        warnings = [{"code": code, "count": count} for code, count in counts if count > 0]
        if len(gains) >= MIN_ROWS and (honest["gain_t"] is None or honest["gain_t"] <= quantile_of_mean(len(gains), 0.95)):
            warnings.append({"code": "choice_is_noise", "count": None})
        return {
            "candidates": [
                {
                    **worth[c],
                    "tickers": sum(1 for t in self.base if self.candidates[c].has(t)),
                    "member": c in self.members(None),
                }
                for c in self.numbers
            ],
            "members": self.members(None),
            "members_by_date": [[iso(d), self.members(d)] for d in starts],
            "honest": honest,
            "best": best,
            "optimism": None if worth[best][key] is None or honest[key] is None else worth[best][key] - honest[key],
            "losses": {
                "reference": self.reference,
                "dates": [iso(l) for l in self.dates],
                "excess": [[by_date.get(l) for l in self.dates] for by_date in self.excess],
                "gains": [gains.get(l) for l in self.dates],
            },
            "warnings": warnings,
        }


def run(params, tickers, late):
    blocks, jobs = None, []
    for settings in expanded(params):
        settings = {**settings, "n_splits": params.get("n_splits", 15) + params["choice"].get("warm_up", 15)}
        job, _ = prepared(settings, tickers, late, blocks, Candidate)
        if params.get("refit_every"):
            blocks = blocks or job.blocks
        job.run()
        jobs.append(job)
    choice = Choice(params, jobs)
    told = choice.told()
    forecasts, factors = published(choice.merged(), params)
    last = {t: rows["last_price"] for t, rows in tickers.items()}
    last |= {t: rows_until(next(iter(tickers.values()))["fit"][-1])["last_price"] for t, rows_until in late.items()}
    as_of = max(day for day in last.values() if day is not None)
    mu = {
        t: own["score"][-1][1]
        for t, own in forecasts.items()
        if own["score"] and own["score"][-1][0] == iso(last[t]) and as_of - last[t] <= MAX_GAP
    }
    return {"failures": set(tickers) - set(forecasts), "tickers": forecasts, "factors": factors, "mu": mu, "choice": told}


if __name__ == "__main__":
    answer_requests(run, with_late=True)
