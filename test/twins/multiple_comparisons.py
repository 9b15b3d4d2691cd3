"""Hansen's tests by the package arch, on resampled dates that the caller gives.

Reads {"losses": [[...] of each model], "gains": [[...] of each forecast], "block": float, "resamples": [[...] of each draw]} from stdin
and writes {"set": p of each model, "ability": {"lower", "consistent", "upper"}}.
"""

import json
import sys
from collections.abc import Iterator

import numpy as np
from arch.bootstrap import MCS, SPA


class Given:
    """Stands for a bootstrap of arch and draws what it is told to."""

    def __init__(self, data: np.ndarray, draws: list[np.ndarray]) -> None:
        self.data = data
        self.draws = draws

    def bootstrap(self, reps: int) -> Iterator[tuple[tuple[np.ndarray], dict[str, object]]]:
        assert reps == len(self.draws)
        for draw in self.draws:
            yield (self.data[draw],), {}


asked = json.load(sys.stdin)
losses = np.array(asked["losses"]).T
gains = np.array(asked["gains"]).T
draws = [np.array(draw) for draw in asked["resamples"]]
rows = len(losses)

confidence = MCS(losses, size=0.05, reps=len(draws), block_size=1, method="R")
confidence.bootstrap = Given(np.arange(rows), draws)
confidence.compute()
p_values = confidence.pvalues["Pvalue"]

# The largest mean of arch is not studentised: gains in units of their own error make it Hansen's statistic.
nothing = np.zeros(rows)
raw = SPA(nothing, -gains, block_size=asked["block"], reps=len(draws))
raw._compute_variance()
scaled = gains / np.sqrt(raw._loss_diff_var)
ability = SPA(nothing, -scaled, block_size=asked["block"], reps=len(draws))
ability.bootstrap = Given(scaled, draws)
ability.compute()

json.dump({"set": [float(p_values[k]) for k in range(losses.shape[1])], "ability": dict(ability.pvalues)}, sys.stdout)
