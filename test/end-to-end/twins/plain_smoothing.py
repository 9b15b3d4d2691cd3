"""Smoothed forecasts from the output of the same job without smoothing, in pandas, written from docs/semantics.md.

`python plain_smoothing.py REQUEST.json`: `{"output": an output of run_ml_job, "half_life": dates}`. Prints by ticker the smoothed forecasts of
its out-of-fold rows, then of its score rows.
"""

import json
import math
import sys

import pandas as pd

with open(sys.argv[1]) as file:
    request = json.load(file)
output, half_life = request["output"], request["half_life"]
levels = output["metrics"]["shrinkage"]["levels"]


def level(day: str, spans: list[dict]) -> float:
    return next((span["level"] for span in reversed(spans) if span["start"] <= day), 0.0)


rows = [
    (part, day, ticker, value, level(day, levels[part]))
    for part, section in (("held_out", "cross_validation"), ("score", "forecasts"))
    for ticker, own in output[section].items()
    for day, value in zip(own["dates"], own["predicted"], strict=True)
]
every = pd.DataFrame(rows, columns=["part", "day", "ticker", "forecast", "level"])
is_early = (every.part == "score") & (every.day <= every.day[every.part == "held_out"].max())
table = every[~is_early].copy()
table["above"] = table.forecast - table.level
by_day = table.groupby("day").above
u, count = by_day.transform(lambda own: own.std(ddof=0)), by_day.transform("size")
table["z"] = ((table.above - by_day.transform("mean")) / u).where(count >= 5)
wide = table.pivot(index="day", columns="ticker", values="z")
weights = pd.Series([2 ** (-j / half_life) for j in range(math.ceil(8 * half_life) + 1)])
shifted = [wide.shift(j) for j in weights.index]
sums = sum(weights[j] * own.fillna(0) for j, own in enumerate(shifted))
totals = sum(weights[j] * own.notna() for j, own in enumerate(shifted))
means = (sums / totals).stack()
table["mean"] = [means.get((day, ticker), 0.0) for day, ticker in zip(table.day, table.ticker, strict=True)]
table["smoothed"] = (table.level + u * table["mean"]).where(count >= 5, table.forecast)
every["smoothed"] = table.smoothed.reindex(every.index).fillna(every.forecast)
print(json.dumps({ticker: list(own.smoothed) for ticker, own in every.groupby("ticker", sort=False)}))
