"""Rows whose features are shuffled, to measure how much a model needs them."""

import numpy as np

from mucast_engine.arrays import Matrix


def permuted_rows(x: Matrix, columns: list[int], strata: list[int], seed: list[int]) -> Matrix:
    """A copy of `x` (n, k) in which each row has the values of `columns` of a random row of its stratum.

    The columns move together, so what they say about each other stays. Strata are consecutive rows; `strata` has the
    number of rows of each, n in total. The same `seed` gives the same rows.
    """
    random = np.random.default_rng(seed)
    ends = np.cumsum(strata)
    source = np.concatenate([random.permutation(size) + end - size for size, end in zip(strata, ends, strict=True)])
    permuted = x.copy()
    permuted[:, columns] = x[np.ix_(source, np.asarray(columns, dtype=np.intp))]
    return permuted
