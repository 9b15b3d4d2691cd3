"""A slow, obvious twin of the adaptive intervals, in plain float64 and in the order the reference states.

As a script it reads a JSON list of cases, {"cal": [[y, p, day, label day], ...], "score": [...], "alpha": a, "bound": b}, and prints
a JSON list of {"intervals": ..., "prequential": ...}.
"""

import bisect
import json
import math
import sys

FAST = 0.9
SLOW = 0.99
WEIGHT = 0.3
ETA = 0.05
FLOOR = 1e-12
WARM_ROWS = 20
MIN_ROWS = 40
RETURNS = 20
WINDOW = 250


def sum_of(values):
    """The twin adds from left to right; Python's own sum compensates and so differs in the last bit."""
    total = 0.0
    for value in values:
        total = total + value
    return total


def mean_of(values):
    """The twin divides the plain sum by the count."""
    return sum_of(values) / len(values)


def is_finite(value):
    """A value exists if it is neither missing nor infinite nor NaN."""
    return value is not None and math.isfinite(value)


def side_of(x, bound):
    """The bound decides which side of a residual is far."""
    if bound == "lower":
        return -x
    if bound == "upper":
        return x
    return abs(x)


def ends_of(predicted, distance, bound):
    """The bound decides which ends exist; if one of them is not finite, there are none."""
    lower = None if bound == "upper" else predicted - distance
    upper = None if bound == "lower" else predicted + distance
    if any(end is not None and not math.isfinite(end) for end in (lower, upper)):
        return None, None
    return lower, upper


def has_ends(lower, upper):
    """A row has ends when at least one of the two is there."""
    return lower is not None or upper is not None


def is_inside(realised, lower, upper):
    """A label on an end lies inside."""
    return not (lower is not None and realised < lower) and not (upper is not None and realised > upper)


class Recursion:
    """The recursion of one ticker: two running scales, the ascending normalised sides, and the shift theta."""

    def __init__(self, start, alpha, bound):
        """The recursion starts with both scales at the given mean distance."""
        self.alpha = alpha
        self.bound = bound
        self.fast = start
        self.slow = start
        self.theta = 0.0
        self.sides = []
        self.learned = 0
        self.misses = 0
        self.clipped = 0.0

    def scale(self):
        """The recursion mixes the two scales and never goes below the floor."""
        return max((1 - WEIGHT) * self.fast + WEIGHT * self.slow, FLOOR)

    def learn(self, realised, predicted, scale, lower, upper):
        """The recursion learns one row with the scale and the ends that were issued for it."""
        x = realised - predicted
        side = side_of(x, self.bound) / scale
        bisect.insort(self.sides, side if math.isfinite(side) else math.inf)
        self.fast = FAST * self.fast + (1 - FAST) * abs(x)
        self.slow = SLOW * self.slow + (1 - SLOW) * abs(x)
        if has_ends(lower, upper):
            self.move_theta(0 if is_inside(realised, lower, upper) else 1)

    def move_theta(self, miss):
        """The recursion moves theta up after a miss and down after a hit."""
        self.theta = self.theta + ETA * (miss - self.alpha)
        self.learned += 1
        self.misses += miss

    def clip_theta(self, quantile):
        """The recursion raises theta so that the width of a two-sided interval is never negative."""
        if self.bound == "both" and quantile + self.theta < 0:
            self.clipped = self.clipped + (-quantile - self.theta)
            self.theta = -quantile

    def issue(self, predicted):
        """The recursion issues the scale and the ends of one row; both ends are None if there are none."""
        n = len(self.sides)
        k = max(1, math.ceil((n + 1) * (1 - self.alpha) - 1e-9))
        scale = self.scale()
        if k > n:
            return scale, None, None
        quantile = self.sides[k - 1]
        self.clip_theta(quantile)
        lower, upper = ends_of(predicted, (quantile + self.theta) * scale, self.bound)
        return scale, lower, upper


def calibration_of(cal):
    """The twin keeps the calibration rows whose label is finite."""
    return [(float(realised), float(predicted)) for realised, predicted, *_ in cal if is_finite(realised)]


def started_on(rows, alpha, bound):
    """A recursion starts with the mean distance of these rows and learns them without ends."""
    recursion = Recursion(mean_of([abs(realised - predicted) for realised, predicted in rows]), alpha, bound)
    for realised, predicted in rows:
        recursion.learn(realised, predicted, recursion.scale(), None, None)
    return recursion


def has_label(row):
    """A score row has a label if it is finite and its day of publication is known."""
    return is_finite(row["realised"]) and row["label_day"] is not None


def learn_due(recursion, pending, day):
    """The recursion learns, oldest first, the pending rows whose label is known by this day."""
    while pending and pending[0][0] <= day:
        recursion.learn(*pending.pop(0)[1:])


def run_over(recursion, score):
    """The recursion walks over the score rows and returns the ends it issues."""
    pending, issued = [], []
    for row in score:
        learn_due(recursion, pending, row["day"])
        predicted = float(row["predicted"])
        scale, lower, upper = recursion.issue(predicted)
        issued.append((lower, upper))
        if has_label(row):
            pending.append((row["label_day"], float(row["realised"]), predicted, scale, lower, upper))
    return issued


def result_of(issued, learned, misses, theta, clipped):
    """The twin reports the ends and the counts of the recursion."""
    return {
        "lower": [lower for lower, _ in issued],
        "upper": [upper for _, upper in issued],
        "learned": learned,
        "misses": misses,
        "theta": theta,
        "clipped": clipped,
    }


def intervals_of(cal, score, alpha, bound):
    """The twin issues the intervals of one ticker; without a calibration row all ends are None."""
    rows = calibration_of(cal)
    if not rows:
        return result_of([(None, None)] * len(score), 0, 0, 0.0, 0.0)
    recursion = started_on(rows, alpha, bound)
    issued = run_over(recursion, score)
    return result_of(issued, recursion.learned, recursion.misses, recursion.theta, recursion.clipped)


def prequential_of(cal, alpha, bound):
    """The twin runs the recursion only on the calibration rows, each once the labels before it are known, and counts the
    labels inside the ends."""
    cal = [row for row in cal if is_finite(row[0])]
    if len(cal) < MIN_ROWS:
        return None
    start = mean_of([abs(realised - predicted) for realised, predicted, *_ in cal[:WARM_ROWS]])
    recursion = Recursion(start, alpha, bound)
    pending, inside = [], []
    for realised, predicted, day, label_day in cal:
        learn_due(recursion, pending, day)
        scale, lower, upper = recursion.scale(), None, None
        if len(recursion.sides) >= WARM_ROWS:
            scale, lower, upper = recursion.issue(predicted)
        pending.append((label_day, float(realised), float(predicted), scale, lower, upper))
        if has_ends(lower, upper):
            inside.append(is_inside(realised, lower, upper))
    return {"n": len(inside), "inside": sum(inside)} if inside else None


def is_two_sided(row):
    """A row is two-sided when it has both ends."""
    return row["lower"] is not None and row["upper"] is not None


def width_of(row):
    """The width of a two-sided row is between its ends, that of a one-sided row from the prediction to its end."""
    if is_two_sided(row):
        return row["upper"] - row["lower"]
    if row["upper"] is None:
        return row["predicted"] - row["lower"]
    return row["upper"] - row["predicted"]


def miss_of(row):
    """The distance of a miss is from the label to the end it passed; inside it is zero."""
    if row["lower"] is not None and row["realised"] < row["lower"]:
        return row["lower"] - row["realised"]
    if row["upper"] is not None and row["realised"] > row["upper"]:
        return row["realised"] - row["upper"]
    return 0.0


def interval_score_of(row, alpha):
    """The interval score adds the width, and for a miss its distance."""
    return width_of(row) + ((2 if is_two_sided(row) else 1) / alpha) * miss_of(row)


def coverage_of(rows):
    """The coverage is the share of the rows with ends whose label lies inside; None without such a row."""
    rows = [row for row in rows if has_ends(row["lower"], row["upper"])]
    if not rows:
        return None
    return sum(1 for row in rows if is_inside(row["realised"], row["lower"], row["upper"])) / len(rows)


def four_of(rows, alpha):
    """The twin measures the labelled rows that have ends."""
    rows = [row for row in rows if has_ends(row["lower"], row["upper"])]
    if not rows:
        return {"n": 0, "coverage": None, "mean_width": None, "interval_score": None}
    two_sided = all(is_two_sided(row) for row in rows)
    return {
        "n": len(rows),
        "coverage": coverage_of(rows),
        "mean_width": mean_of([width_of(row) for row in rows]) if two_sided else None,
        "interval_score": mean_of([interval_score_of(row, alpha) for row in rows]),
    }


def by_year_of(rows, alpha):
    """The twin measures each year that has a labelled row."""
    years = sorted({row["year"] for row in rows})
    return {year: four_of([row for row in rows if row["year"] == year], alpha) for year in years}


def top_tenth_of(rows):
    """The twin picks the tenth of the labelled rows with the highest volatility and returns it by date."""
    known = [i for i, row in enumerate(rows) if row["volatility"] is not None and not math.isnan(row["volatility"])]
    ranked = sorted(known, key=lambda i: (-rows[i]["volatility"], i))
    return [rows[i] for i in sorted(ranked[: len(rows) // 10])]


def tenths_of(rows):
    """The twin divides the labelled rows of known volatility into tenths, the quietest first; fewer than ten rows
    have none."""
    known = [i for i, row in enumerate(rows) if row["volatility"] is not None and not math.isnan(row["volatility"])]
    ranked = sorted(known, key=lambda i: (rows[i]["volatility"], -i))
    parts = [[] for _ in range(10)]
    for place, i in enumerate(ranked if len(ranked) >= 10 else []):
        parts[place * 10 // len(ranked)].append(i)
    return [[rows[i] for i in sorted(part)] for part in parts]


def joint_misses_of(by_ticker):
    """The twin counts the dates with five or more outcomes on which at least half of them missed."""
    outcomes = {}
    for rows in by_ticker.values():
        for row in rows:
            if is_finite(row["realised"]) and has_ends(row["lower"], row["upper"]):
                inside = is_inside(row["realised"], row["lower"], row["upper"])
                outcomes.setdefault(row["day"], []).append(0 if inside else 1)
    judged = [misses for misses in outcomes.values() if len(misses) >= 5]
    return {"dates": len(judged), "half_missed": len([m for m in judged if sum(m) >= len(m) / 2])}


def worst_of(rows):
    """The twin finds the lowest coverage of any 250 successive labelled rows; None if there is none."""
    coverages = [coverage_of(rows[i : i + WINDOW]) for i in range(len(rows) - WINDOW + 1)]
    return min((coverage for coverage in coverages if coverage is not None), default=None)


def evidence_of(rows, alpha):
    """The twin measures the labelled rows of one ticker: in total, by year, on volatile days, and for the worst
    stretch."""
    labelled = [row for row in rows if is_finite(row["realised"])]
    return {
        **four_of(labelled, alpha),
        "by_year": by_year_of(labelled, alpha),
        "high_volatility": four_of(top_tenth_of(labelled), alpha),
        "worst_250": worst_of(labelled),
    }


def volatility_of(returns, i):
    """The twin takes the deviation of the last 20 returns known at the close of price date i; None for fewer."""
    known = [value for value in returns[: max(i, 0)] if value is not None][-RETURNS:]
    if len(known) < RETURNS:
        return None
    mean = mean_of(known)
    return math.sqrt(mean_of([(value - mean) * (value - mean) for value in known]))


def case_of(case):
    """The script answers one case."""
    cal, alpha, bound = case["cal"], case["alpha"], case["bound"]
    return {
        "intervals": intervals_of(cal, case["score"], alpha, bound),
        "prequential": prequential_of(cal, alpha, bound),
    }


def main():
    """The script reads the file of cases and prints the answers."""
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    print(json.dumps([case_of(case) for case in cases]))


if __name__ == "__main__":
    main()
