"""Makes rank-ic.json: Spearman correlations and average ranks by scipy, most of them with ties.

Run by hand with scipy installed (neither mucast nor its tests depend on it):

    python test/cases/make_rank_ic.py > test/cases/rank-ic.json
    npx biome format --write test/cases/rank-ic.json
"""

import json
import sys

import numpy as np
import scipy
from scipy.stats import pearsonr, rankdata, spearmanr

rng = np.random.default_rng(20260117)


def pairs():
    yield "three tickers, no ties", [0.1, 0.2, 0.3], [0.3, 0.1, 0.2]
    yield "three tickers, one tie", [0.1, 0.1, 0.3], [0.3, 0.1, 0.2]
    yield "ties on both sides at the same places", [1.0, 1.0, 2.0, 2.0], [5.0, 5.0, 4.0, 4.0]
    yield "zero and minus zero are one value", [0.0, -0.0, 1.0, -1.0], [2.0, 1.0, 3.0, 0.0]
    yield "all but one tied", [1.0] * 9 + [2.0], list(range(10))
    yield "reversed", list(range(20)), list(range(20, 0, -1))
    yield "neighbouring floats", [1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), 1.0], [4.0, 3.0, 2.0, 1.0]
    yield "very large and very small", [1e-300, 1e300, -1e300, 5e-324, 0.0], [1e-310, 1e18, -7.0, 0.0, 2e-310]
    for size in (3, 4, 5, 7, 10, 20, 50, 120):
        for digits in (0, 1, 2, 6):
            p = np.round(rng.normal(size=size), digits)
            y = np.round(0.5 * p + rng.normal(size=size), digits)
            if np.ptp(p) > 0 and np.ptp(y) > 0:
                yield f"normal, {size} tickers, rounded to {digits} digits", p, y


def case(name, p, y):
    p, y = np.asarray(p, dtype=float), np.asarray(y, dtype=float)
    entry = {
        "name": name,
        "predicted": p.tolist(),
        "realised": y.tolist(),
        "ranks_of_predicted": rankdata(p).tolist(),
        "spearman": float(spearmanr(p, y).statistic),
    }
    if 1e-9 < np.ptp(p) < 1e100:  # outside, scipy's own sums lose digits or overflow
        entry["pearson"] = float(pearsonr(p, y).statistic)
    return entry


json.dump(
    {
        "made_by": "test/cases/make_rank_ic.py",
        "scipy": scipy.__version__,
        "numpy": np.__version__,
        "cases": [case(*pair) for pair in pairs()],
    },
    sys.stdout,
)
print()
