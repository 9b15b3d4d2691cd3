/**
 * Ranks from 1 to n, ties sharing the average of the ranks they span, as scipy.stats.rankdata does by default.
 * @param values shape (n), finite.
 * @returns shape (n); every rank is a whole or a half number, so sums of ranks are exact.
 */
export function averageRanks(values: Float64Array): Float64Array {
  const sorted = values.slice().sort();
  const ranks = ranksOfSorted(sorted);
  const out = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) out[i] = ranks[countBelow(sorted, values[i]!)]!;
  return out;
}

/** Shape (n), ascending values in: with `below` values smaller and `upTo` no larger, tied ranks are below + 1 ... upTo. */
function ranksOfSorted(sorted: Float64Array): Float64Array {
  const ranks = new Float64Array(sorted.length);
  for (let below = 0, upTo = 0; below < sorted.length; below = upTo) {
    while (upTo < sorted.length && sorted[upTo]! === sorted[below]!) upTo++;
    ranks.fill((below + 1 + upTo) / 2, below, upTo);
  }
  return ranks;
}

/** How many entries of an ascending array are smaller than a value. */
function countBelow(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
