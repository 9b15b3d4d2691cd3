import { NEWEY_WEST_LAG } from "../../evaluate/newey-west.ts";

/** The number of draws: enough to know a p of 0.05 to 0.007 (its standard error). */
export const DRAWS = 1_000;

/** The resampled dates of each draw: shape (n) each, positions in time order. */
export type Resamples = readonly Int32Array[];

/**
 * The mean length of a block in dates: the cube root of the number of dates, which is the best rate for a variance (Politis and
 * Romano 1994), and at least the week over which the Newey-West error allows correlation.
 */
export function meanBlockLength(dates: number): number {
  return Math.max(NEWEY_WEST_LAG + 1, Math.ceil(Math.cbrt(dates)));
}

/**
 * The stationary bootstrap (Politis and Romano 1994, "The Stationary Bootstrap"): blocks of successive dates that start anywhere and
 * have geometric lengths; the first date follows the last. The seed is fixed, so equal outputs give equal pages.
 */
export function stationaryResamples(dates: number, draws = DRAWS): Resamples {
  const renewal = 1 / meanBlockLength(dates);
  const uniform = uniformNumbers();
  return Array.from({ length: draws }, () => {
    const drawn = new Int32Array(dates);
    for (let i = 0; i < dates; i++) {
      const isNew = i === 0 || uniform() < renewal;
      drawn[i] = isNew ? Math.floor(uniform() * dates) : (drawn[i - 1]! + 1) % dates;
    }
    return drawn;
  });
}

/**
 * Uniform numbers in (0, 1) with a fixed seed: the difference of two multiplicative generators (L'Ecuyer 1988, "Efficient and
 * portable combined random number generators"). All products are exact in a float64.
 */
function uniformNumbers(): () => number {
  const [firstModulus, secondModulus] = [2_147_483_563, 2_147_483_399];
  let [first, second] = [20_050_101, 20_110_301];
  return () => {
    first = (40_014 * first) % firstModulus;
    second = (40_692 * second) % secondModulus;
    const difference = (first - second + firstModulus - 1) % (firstModulus - 1);
    return (difference === 0 ? firstModulus - 1 : difference) / firstModulus;
  };
}

/** Reused by every draw. */
let buffer = new Float64Array(0);

/**
 * The mean of resampled values and its Newey-West error with a lag of NEWEY_WEST_LAG. The sum of the autocovariances with Bartlett
 * weights equals the sum of the squared sums of lag + 1 successive deviations, divided by lag + 1.
 * @param values by date; NaN is a gap, which a draw omits.
 */
export function resampledMean(values: Float64Array, drawn: Int32Array): { average: number; error: number } {
  if (buffer.length < drawn.length) buffer = new Float64Array(drawn.length);
  const taken = buffer;
  let [n, sum] = [0, 0];
  for (let i = 0; i < drawn.length; i++) {
    const value = values[drawn[i]!]!;
    if (Number.isNaN(value)) continue;
    taken[n++] = value;
    sum += value;
  }
  const average = sum / n;
  const width = NEWEY_WEST_LAG + 1;
  let [window, squares] = [0, 0];
  for (let i = 0; i < n + NEWEY_WEST_LAG; i++) {
    if (i < n) window += taken[i]! - average;
    if (i >= width) window -= taken[i - width]! - average;
    squares += window * window;
  }
  return { average, error: Math.sqrt(squares / width) / n };
}
