/** The number of dates in a rolling mean: about a quarter of a year. */
export const ROLLING_DATES = 63;

/** The running sum of the values: shape (n). */
export function cumulative(values: Float64Array): Float64Array {
  let sum = 0;
  return values.map((value) => {
    sum += value;
    return sum;
  });
}

/** The mean of each value and the `count` - 1 before it; NaN if there are fewer. Shape (n). */
export function rollingMean(values: Float64Array, count: number): Float64Array {
  return rollingRatio(values, new Float64Array(values.length).fill(1), count);
}

/**
 * The sum of each numerator and the `count` - 1 before it, divided by the sum of the denominators; NaN if there are fewer. Each
 * window is summed separately, so that no rounding accumulates.
 * @param numerators shape (n), like `denominators`.
 */
export function rollingRatio(
  numerators: Float64Array,
  denominators: Float64Array,
  count: number,
): Float64Array {
  return numerators.map((_, last) => {
    if (last < count - 1) return Number.NaN;
    let [above, below] = [0, 0];
    for (let i = last - count + 1; i <= last; i++) {
      above += numerators[i]!;
      below += denominators[i]!;
    }
    return above / below;
  });
}
