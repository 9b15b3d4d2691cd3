/**
 * Ranks from 1 to n, ties sharing the average of the ranks they span, as scipy.stats.rankdata does by default.
 * @param values shape (n), finite.
 * @returns shape (n); every rank is a whole or a half number, so sums of ranks are exact.
 */
export function averageRanks(values: Float64Array): Float64Array {
  const sorted = values.slice().sort();
  // With `below` values smaller and `upTo` values no larger, the tied ranks are below + 1 ... upTo.
  return values.map((value) => {
    const below = countBefore(sorted, (other) => other < value);
    const upTo = countBefore(sorted, (other) => other <= value);
    return (below + 1 + upTo) / 2;
  });
}

/** How many leading entries of an ascending array satisfy a condition that holds for a prefix of it. */
function countBefore(sorted: Float64Array, holds: (value: number) => boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(sorted[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
}
