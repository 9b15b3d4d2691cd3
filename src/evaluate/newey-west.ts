import { finiteOrNull, mean } from "./statistics.ts";

/** Values a day apart correlate over about a week. */
export const NEWEY_WEST_LAG = 5;

/** Fewer dates say too little about their own error for a band or a test. */
export const MIN_DATES = 30;

/**
 * t statistic of a mean whose values correlate over time: the mean divided by its Newey-West error.
 * @param values in time order, a step apart.
 * @param lag in values.
 * @returns null for fewer than two values, and if the variance is 0.
 */
export function neweyWestT(values: Float64Array, lag = NEWEY_WEST_LAG): number | null {
  const error = neweyWestError(values, lag);
  return error === null ? null : finiteOrNull(mean(values) / error);
}

/**
 * Coefficients of the quantile as a cubic in b, by its probability (Kiefer and Vogelsang 2005, "A New Asymptotic Theory for
 * Heteroskedasticity-Autocorrelation Robust Tests", table 1, Bartlett kernel). The first is the normal quantile.
 */
const FIXED_B = {
  0.95: [1.6449, 2.1859, 0.3142, -0.3427],
  0.975: [1.96, 2.9694, 0.416, -0.5324],
  0.99: [2.3263, 4.1618, 0.5368, -0.906],
} as const;

/** One-sided probabilities with a known quantile: 0.975 is that of a two-sided 95 % band. */
export type FixedBProbability = keyof typeof FIXED_B;

/**
 * The t that chance alone exceeds with probability 1 - `probability`: the quantile of neweyWestT for n values whose mean is 0. The fewer
 * the values, the smaller their Newey-West error; the fixed-b distribution, in which the lag keeps its share b = (lag + 1) / n of the
 * values, allows for that and becomes the normal one as n grows.
 * @param n at least lag + 1; the source's fit ends at b = 1.
 */
export function neweyWestQuantile(
  n: number,
  probability: FixedBProbability = 0.95,
  lag = NEWEY_WEST_LAG,
): number {
  const b = (lag + 1) / n;
  return FIXED_B[probability].reduce((sum, coefficient, power) => sum + coefficient * b ** power, 0);
}

/**
 * Standard error of a mean whose values correlate over time (Newey and West 1987): the variance sums the autocovariances up to the lag,
 * each weighted by 1 - j / (lag + 1).
 * @param values in time order, a step apart.
 * @returns null for fewer than two values, and if the variance is 0.
 */
export function neweyWestError(values: Float64Array, lag = NEWEY_WEST_LAG): number | null {
  const n = values.length;
  if (n < 2) return null;
  const centre = mean(values);
  const deviations = values.map((value) => value - centre);
  let variance = autocovariance(deviations, 0);
  for (let j = 1; j <= Math.min(lag, n - 1); j++) {
    variance += 2 * (1 - j / (lag + 1)) * autocovariance(deviations, j);
  }
  return variance > 0 ? Math.sqrt(variance / n) : null;
}

/** Mean product of deviations j steps apart, over all n. */
function autocovariance(deviations: Float64Array, j: number): number {
  let sum = 0;
  for (let i = j; i < deviations.length; i++) sum += deviations[i]! * deviations[i - j]!;
  return sum / deviations.length;
}
