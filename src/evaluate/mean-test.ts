import { EWC_TERMS, meanMethod, NEWEY_WEST_LAG } from "../contract/output/test-quantile.ts";
import { deviation, finiteOrNull, largestMagnitude, mean } from "./statistics.ts";

/**
 * Standard error of the mean of values that correlate over time. From MIN_EWC_VALUES values on, the equal-weighted cosine estimate of the
 * long-run variance, which follows slow movements (Lazarus, Lewis, Stock and Watson 2018, "HAR Inference: Recommendations for
 * Practice"): the mean over j = 1..8 of (sqrt(2 / n) sum_d cos(pi j (d - 1/2) / n) x_d)². With fewer values, Newey-West with lag 5.
 * @param values in time order, a step apart.
 * @returns null for fewer than two values, and if the variance is 0.
 */
export function meanError(values: Float64Array): number | null {
  const n = values.length;
  if (meanMethod(n) === "newey_west_5") return neweyWestError(values);
  // Cosine sums of a constant are 0 only up to rounding, so the mean goes first.
  const centre = mean(values);
  let squares = 0;
  for (let j = 1; j <= EWC_TERMS; j++) {
    let sum = 0;
    for (let d = 0; d < n; d++) sum += Math.cos((Math.PI * j * (d + 0.5)) / n) * (values[d]! - centre);
    squares += sum * sum;
  }
  const variance = ((2 / n) * squares) / EWC_TERMS;
  return variance > 0 ? Math.sqrt(variance / n) : null;
}

/** The mean divided by its error. @returns null without an error. */
export function meanT(values: Float64Array, errorOf = meanError): number | null {
  const error = errorOf(values);
  return error === null ? null : finiteOrNull(mean(values) / error);
}

/** The same by Newey and West, however many values there are. */
export function neweyWestT(values: Float64Array): number | null {
  return meanT(values, neweyWestError);
}

/** Values whose deviation is below this share of their terms differ by rounding alone. */
const ROUNDING = 1e-12;

/** The mean of values over dates with its t; null without a value, and without a t for equal values. */
export function meanWithT(values: Float64Array): { readonly mean: number | null; readonly t: number | null } {
  const differ = deviation(values) > ROUNDING * largestMagnitude(values);
  return { mean: finiteOrNull(mean(values)), t: differ ? meanT(values) : null };
}

/**
 * The t of a mean over dates.
 * @param values one per date, in time order.
 * @param scale the typical size of the terms that a value is a sum or a mean of: a t of their rounding would be chance.
 * @param errorOf the error of the mean.
 * @returns infinite, with the sign of the values, if they are equal up to rounding. Null if they are 0 up to rounding, and without a date.
 */
export function dateT(
  values: Float64Array,
  scale: number,
  errorOf: (values: Float64Array) => number | null = meanError,
): number | null {
  const floor = ROUNDING * scale;
  const centre = mean(values);
  if (deviation(values) > floor) {
    const error = errorOf(values);
    return error === null ? null : centre / error;
  }
  if (centre > floor) return Number.POSITIVE_INFINITY;
  return centre < -floor ? Number.NEGATIVE_INFINITY : null;
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
  let variance = 0;
  for (let j = 0; j <= Math.min(NEWEY_WEST_LAG, n - 1); j++) {
    let products = 0;
    for (let i = j; i < n; i++) products += (values[i]! - centre) * (values[i - j]! - centre);
    variance += (j === 0 ? 1 : 2 * (1 - j / (NEWEY_WEST_LAG + 1))) * (products / n);
  }
  return variance > 0 ? Math.sqrt(variance / n) : null;
}
