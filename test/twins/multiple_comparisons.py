"""Hansen's tests by the package arch, on resampled dates that the caller provides.

Reads a list of cases {"losses": [[...] of each model], "gains": [[...] of each forecast], "block": float, "resamples": [[...] of each
draw]} from stdin and writes for each {"set": p of each model, "ability": {"lower", "consistent", "upper"}}.
"""

import json
import sys
from collections.abc import Iterator

import numpy as np
from arch.bootstrap import MCS, SPA


class Given:
    """Replaces a bootstrap of arch and returns the given draws."""

    def __init__(self, data: np.ndarray, draws: list[np.ndarray]) -> None:
        self.data = data
        self.draws = draws

    def bootstrap(self, reps: int) -> Iterator[tuple[tuple[np.ndarray], dict[str, object]]]:
        assert reps == len(self.draws)
        for draw in self.draws:
            yield (self.data[draw],), {}


def compared(case: dict[str, list[list[float]]]) -> dict[str, object]:
    losses = np.array(case["losses"]).T
    gains = np.array(case["gains"]).T
    draws = [np.array(draw) for draw in case["resamples"]]
    rows = len(losses)

    confidence = MCS(losses, size=0.05, reps=len(draws), block_size=1, method="R")
    confidence.bootstrap = Given(np.arange(rows), draws)
    confidence.compute()
    p_values = confidence.pvalues["Pvalue"]

    # The largest mean of arch is not studentised: gains in units of their own error make it Hansen's statistic.
    nothing = np.zeros(rows)
    raw = SPA(nothing, -gains, block_size=case["block"], reps=len(draws))
    raw._compute_variance()
    scaled = gains / np.sqrt(raw._loss_diff_var)
    ability = SPA(nothing, -scaled, block_size=case["block"], reps=len(draws))
    ability.bootstrap = Given(scaled, draws)
    ability.compute()
    return {"set": [float(p_values[k]) for k in range(losses.shape[1])], "ability": dict(ability.pvalues)}


json.dump([compared(case) for case in json.load(sys.stdin)], sys.stdout)
