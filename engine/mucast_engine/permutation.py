"""Replaces features of the rows to predict by values of random rows, to measure how much a model needs them."""

import numpy as np
import numpy.typing as npt

from mucast_engine.arrays import Matrix

Range = tuple[int, int]
Rows = npt.NDArray[np.intp]


class Replacements:
    """For each row of `predict`, the rows of `pool` in its stratum, whose values may replace its own.

    Both are half-open ranges of rows of a matrix, and `pool` contains `predict`. `strata` (m), m >= both, has the
    stratum of each row; without it, all rows are one stratum.
    """

    def __init__(self, strata: Matrix | None, pool: Range, predict: Range) -> None:
        self._rows = predict[1] - predict[0]
        ids = np.zeros(pool[1]) if strata is None else strata
        drawn, wanted = (np.argsort(ids[a:b], kind="stable") + a for a, b in (pool, predict))
        known = ids[drawn]
        self._strata: list[tuple[Rows, Rows]] = []
        for own in np.split(wanted, np.flatnonzero(np.diff(ids[wanted])) + 1):
            if len(own) > 0:
                first, last = (np.searchsorted(known, ids[own[0]], side) for side in ("left", "right"))
                self._strata.append((own - predict[0], drawn[first:last]))

    def draw(self, seed: list[int]) -> Rows:
        """For each row to predict a random row, none twice: the same for the same seed."""
        random = np.random.default_rng(seed)
        rows = np.empty(self._rows, dtype=np.intp)
        for own, drawn in self._strata:
            rows[own] = random.permutation(drawn)[: len(own)]
        return rows
