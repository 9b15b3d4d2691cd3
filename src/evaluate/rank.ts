/**
 * Ranks from 1 to n, ties sharing the average of the ranks they span, as scipy.stats.rankdata does by default.
 * @param values shape (n).
 * @returns shape (n); every rank is a whole or a half number, so sums of ranks are exact. If a value is NaN, there is no order, and every
 * rank is NaN, as in scipy.
 */
export function averageRanks(values: Float64Array): Float64Array {
  if (values.some(Number.isNaN)) return values.map(() => Number.NaN);
  const sorted = values.slice().sort();
  /** By the place of the first of equal values: they have the ranks below + 1 ... upTo. */
  const means = new Float64Array(sorted.length);
  for (let below = 0, upTo = 1; below < sorted.length; below = upTo++) {
    while (sorted[upTo] === sorted[below]) upTo++;
    means[below] = (below + 1 + upTo) / 2;
  }
  return values.map((value) => {
    let [below, end] = [0, sorted.length];
    while (below < end) {
      const middle = (below + end) >> 1;
      if (sorted[middle]! < value) below = middle + 1;
      else end = middle;
    }
    return means[below]!;
  });
}

/** The quantile of each forecast of a date by its rank, from 0: floor(q (rank - 1/2) / n). Ties share their rank and so their quantile. */
export function quantilesOf(ranks: Float64Array, count: number): Int32Array {
  return Int32Array.from(ranks, (rank) => Math.floor((count * (rank - 0.5)) / ranks.length));
}
