/** The sum of the values so far: shape (n). */
export function cumulative(values: Float64Array): Float64Array {
  let sum = 0;
  return values.map((value) => {
    sum += value;
    return sum;
  });
}

/** Mean of each value and the `count` - 1 before it; NaN where fewer have gone before. Shape (n). */
export function rollingMean(values: Float64Array, count: number): Float64Array {
  return rollingRatio(values, new Float64Array(values.length).fill(1), count);
}

/**
 * The sum of each numerator and the `count` - 1 before it over that of the denominators; NaN where fewer have gone before. Each
 * window is summed anew, so that no rounding is carried along.
 * @param numerators shape (n), as `denominators`.
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
