"""The slow, obvious twin of how run_dl_job chooses among networks, written from docs/semantics.md.

It gets the forecasts of every candidate and shares no code with mucast or its engine. Usage: `python plain_network_choice.py
REQUEST.json` with a list of `{"settings": {"rule": …, "measure": …}, "candidates": [{ticker: {"unit": mean squared training
label, "validation": rows, "calibration": rows, "score": [[day, forecast], …], "spread": number or null}, …}, …]}`, where rows
are `[day, label day, label, forecast]` and a candidate lacks the tickers on which it failed. stdout is a JSON list of choices.
"""

import json
import math
import sys

from plain_choice_job import Choice, mean


class Network:
    def __init__(self, trained):
        self.trained = trained

    def has(self, ticker):
        return ticker in self.trained


class NetworkChoice(Choice):
    def __init__(self, settings, candidates):
        self.settings = {"warm_up": 0, **settings}
        self.candidates, self.numbers = [Network(trained) for trained in candidates], range(len(candidates))
        every = sorted({ticker for trained in candidates for ticker in trained})
        self.base = {t: min(c for c in self.numbers if t in candidates[c]) for t in every}
        self.folds = {t: self.parts_of(t) for t in every}
        self.by_label_date = {}
        for folds in self.folds.values():
            for row in (row for fold in folds if not fold["published"] for row in fold["rows"]):
                if row["unit"] > 0:
                    self.by_label_date.setdefault(row["known"], []).append(row)
        rows = [row for there in self.by_label_date.values() for row in there]
        counts = [sum(1 for row in rows if c in row["p"]) for c in self.numbers]
        self.reference = counts.index(max(counts))
        self.dates = sorted(self.by_label_date)
        self.excess = [{l: e for l in self.dates if (e := self.excess_on(l, c)) is not None} for c in self.numbers]

    def parts_of(self, ticker):
        """The validation part, then the calibration part, which is published."""
        trained = [candidate.trained.get(ticker) for candidate in self.candidates]
        base = trained[self.base[ticker]]
        parts = []
        for name in ("validation", "calibration"):
            own = [{} if one is None else {day: p for day, _, _, p in one[name]} for one in trained]
            rows = [
                {
                    "known": known,
                    "y": y,
                    "unit": base["unit"],
                    "p": {c: own[c][day] for c in self.numbers if day in own[c]},
                }
                for day, known, y, _ in base[name]
            ]
            if rows:
                parts.append({"start": base[name][0][0], "published": name == "calibration", "rows": rows})
        return parts

    def score_of(self, ticker):
        own = [dict(map(tuple, candidate.trained[ticker]["score"])) if candidate.has(ticker) else {} for candidate in self.candidates]
        days = [day for day, _ in self.candidates[self.base[ticker]].trained[ticker]["score"]]
        members = self.members(None)
        return [self.combined({c: p[day] for c, p in enumerate(own) if day in p}, members) for day in days]

    def spread_of(self, ticker):
        """The deviation of the members' last forecasts; for one, the spread of its own ensemble."""
        last = self.candidates[self.base[ticker]].trained[ticker]["score"][-1][0]
        own = {c: dict(map(tuple, candidate.trained[ticker]["score"])) for c, candidate in enumerate(self.candidates) if candidate.has(ticker)}
        there = [c for c in own if last in own[c]]
        used = [c for c in self.members(None) if c in there] or there[:1]
        if len(used) == 1:
            return self.candidates[used[0]].trained[ticker]["spread"]
        forecasts = [own[c][last] for c in used]
        return math.sqrt(math.fsum((p - mean(forecasts)) ** 2 for p in forecasts) / (len(forecasts) - 1))

    def answer(self):
        told = self.told()
        honest = told["honest"]
        _, gains = self.worth(lambda row: row["published_p"])
        dates = sorted({*self.dates, *gains})
        return {
            **{key: told[key] for key in ("candidates", "members", "best", "optimism", "warnings")},
            "honest": honest,
            "losses": {
                "reference": self.reference,
                "dates": dates,
                "excess": [[by_date.get(l) for l in dates] for by_date in self.excess],
                "gains": [gains.get(l) for l in dates],
            },
            "starts": [[day, self.members(day)] for day in sorted({fold["start"] for folds in self.folds.values() for fold in folds})],
            "tickers": {
                t: {
                    "calibration": [row["published_p"] for fold in self.folds[t] if fold["published"] for row in fold["rows"]],
                    "score": self.score_of(t),
                    "spread": self.spread_of(t),
                }
                for t in self.base
            },
        }


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        requests = json.load(file)
    # Days are numbers here: the twin of run_ml_job writes them as dates.
    import plain_choice_job

    plain_choice_job.iso = lambda day: day
    print(json.dumps([NetworkChoice(request["settings"], request["candidates"]).answer() for request in requests]))
