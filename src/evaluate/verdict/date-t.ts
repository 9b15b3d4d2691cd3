import { meanError } from "../mean-test.ts";
import { deviation, mean } from "../statistics.ts";

/** Values whose difference is at most this share of their terms are equal: the rest is rounding. */
const ROUNDING = 1e-12;

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
