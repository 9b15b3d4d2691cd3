/**
 * Ranks from 1 to n, ties sharing the average of the ranks they span, as scipy.stats.rankdata does by default.
 * @param values shape (n).
 * @returns shape (n); every rank is a whole or a half number, so sums of ranks are exact. If a value is NaN, there is no order, and every
 * rank is NaN, as in scipy.
 */
export function averageRanks(values: Float64Array): Float64Array {
  const ranks = new Float64Array(values.length);
  if (values.some(Number.isNaN)) return ranks.fill(Number.NaN);
  const order = Uint32Array.from(values.keys()).sort((a, b) => values[a]! - values[b]! || a - b);
  // Of tied values, `below` others are smaller and `upTo` are not larger: their ranks are below + 1 ... upTo.
  for (let below = 0, upTo = 1; below < order.length; below = upTo++) {
    const value = values[order[below]!]!;
    while (upTo < order.length && values[order[upTo]!] === value) upTo++;
    for (let i = below; i < upTo; i++) ranks[order[i]!] = (below + 1 + upTo) / 2;
  }
  return ranks;
}

/** The quantile of each forecast of a date, from 0: floor(q (rank - 1/2) / n). Ties share their average rank and so their quantile. */
export function quantilesOf(predicted: Float64Array, count: number): Int32Array {
  const ranks = averageRanks(predicted);
  return Int32Array.from(ranks, (rank) => Math.floor((count * (rank - 0.5)) / ranks.length));
}
