import { NEWEY_WEST_LAG } from "../contract/output/test-quantile.ts";
import { finiteOrNull, mean } from "./statistics.ts";

/**
 * t statistic of a mean whose values correlate over time: the mean divided by its Newey-West error.
 * @param values in time order, a step apart.
 * @returns null for fewer than two values, and if the variance is 0.
 */
export function neweyWestT(values: Float64Array): number | null {
  const error = neweyWestError(values);
  return error === null ? null : finiteOrNull(mean(values) / error);
}

/**
 * Standard error of a mean whose values correlate over time (Newey and West 1987): the variance sums the autocovariances up to the lag,
 * each weighted by 1 - j / (lag + 1).
 * @param values in time order, a step apart.
 * @returns null for fewer than two values, and if the variance is 0.
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
