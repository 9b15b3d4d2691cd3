/**
 * A feature that compares a ticker with the others on one date. The function takes one feature of all tickers on that
 * date, shape (tickers), NaN if a ticker has none, and returns the same shape; NaN stays NaN. It uses no other date.
 */
export type CrossSection = (values: Float64Array) => Float64Array;

/** Distance to the equal-weight mean of the tickers that have a value that day; 0 for a single one. */
export function relativeToMean(values: Float64Array): Float64Array {
  const present = values.filter((value) => !Number.isNaN(value));
  const average = present.reduce((sum, value) => sum + value, 0) / present.length;
  return values.map((value) => value - average);
}

/**
 * Rank among the m tickers that have a value that day: (rank - 1/2) / m with ranks 1 to m, ties averaged, so between 0 and 1; 1/2 for a
 * single one.
 */
export function rank(values: Float64Array): Float64Array {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  return values.map((value) => {
    if (Number.isNaN(value)) return Number.NaN;
    const below = firstAtLeast(sorted, value, false);
    const upTo = firstAtLeast(sorted, value, true);
    return (below + upTo) / 2 / sorted.length;
  });
}

/** Index of the first entry that is at least `value`, or, with `above`, greater. */
function firstAtLeast(sorted: Float64Array, value: number, above: boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const before = above ? sorted[middle]! <= value : sorted[middle]! < value;
    if (before) low = middle + 1;
    else high = middle;
  }
  return low;
}
