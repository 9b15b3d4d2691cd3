import { finiteOrNull, mean } from "./statistics.ts";

/** Values a day apart correlate over about a week. */
export const NEWEY_WEST_LAG = 5;

/** Over fewer dates the Newey-West error is too small and the normal quantile too near, so there is no band and no test. */
export const LEAST_DATES = 30;

/**
 * t statistic of a mean whose values correlate over time: the mean over its Newey-West error.
 * @param values in time order, a step apart.
 * @returns null for fewer than two values, and where the variance is 0.
 */
export function neweyWestT(values: Float64Array): number | null {
  const error = neweyWestError(values);
  return error === null ? null : finiteOrNull(mean(values) / error);
}

/**
 * The t that chance alone reaches once in twenty times: the 0.95 quantile of neweyWestT of n values whose mean is 0. The fewer the
 * values, the smaller their Newey-West error; the distribution in which the lag keeps its share b = (lag + 1) / n of the values allows
 * for that, and becomes the normal one as n grows (Kiefer and Vogelsang 2005, Bartlett kernel, 95 %).
 * @param n at least LEAST_DATES; the source's fit ends at b = 1.
 */
export function neweyWestQuantile(n: number): number {
  const b = (NEWEY_WEST_LAG + 1) / n;
  return 1.6449 + 2.1859 * b + 0.3142 * b ** 2 - 0.3427 * b ** 3;
}

/**
 * Standard error of a mean whose values correlate over time (Newey and West 1987): the variance is that of the
 * autocovariances up to NEWEY_WEST_LAG, each weighted by 1 - j / (lag + 1).
 * @param values in time order, a step apart.
 * @returns null for fewer than two values, and where the variance is 0.
 */
export function neweyWestError(values: Float64Array): number | null {
  const n = values.length;
  if (n < 2) return null;
  const centre = mean(values);
  const deviations = values.map((value) => value - centre);
  let variance = autocovariance(deviations, 0);
  for (let j = 1; j <= Math.min(NEWEY_WEST_LAG, n - 1); j++) {
    variance += 2 * (1 - j / (NEWEY_WEST_LAG + 1)) * autocovariance(deviations, j);
  }
  return variance > 0 ? Math.sqrt(variance / n) : null;
}

/** Mean product of deviations j steps apart, over all n. */
function autocovariance(deviations: Float64Array, j: number): number {
  let sum = 0;
  for (let i = j; i < deviations.length; i++) sum += deviations[i]! * deviations[i - j]!;
  return sum / deviations.length;
}
