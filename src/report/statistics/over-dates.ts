import { LEAST_DATES, neweyWestError } from "../../evaluate/newey-west.ts";
import { mean } from "../../evaluate/statistics.ts";

/** The normal quantile of 0.975: a band of so many standard errors either way holds 95 %. */
export const NORMAL_975 = 1.959963984540054;

/** A 95 % band. */
export interface Band {
  readonly low: number;
  readonly high: number;
}

/** The 95 % band of an estimate with a normal error; null without an error. */
export function bandOf(value: number | null, error: number | null): Band | null {
  if (value === null || error === null) return null;
  return { low: value - NORMAL_975 * error, high: value + NORMAL_975 * error };
}

/**
 * The standard error of a mean over dates, whose values may correlate over time.
 * @param values in time order.
 * @returns null of fewer than LEAST_DATES, or without a variance.
 */
export function errorOverDates(values: Float64Array): number | null {
  return values.length < LEAST_DATES ? null : neweyWestError(values);
}

/** The 95 % band of a mean over dates. @param values in time order. */
export function meanBand(values: Float64Array): Band | null {
  return bandOf(mean(values), errorOverDates(values));
}

/** Sums of the rows of each date: a ratio of their totals is a mean, a share or an R² over rows. */
export interface DateSums {
  readonly numerators: Float64Array;
  /** Above 0 each. */
  readonly denominators: Float64Array;
}

/** A ratio of totals over dates, and its standard error. */
export interface DateRatio {
  readonly ratio: number;
  readonly error: number | null;
}

/**
 * The ratio r = sum of a / sum of b over dates, and its error with the dates as the units that are drawn, since the rows of a
 * date move together: that of the mean of the linearised values a - r b, over the mean of b (Cochran, "Sampling Techniques",
 * 1977, 6.4), by Newey and West.
 */
export function ratioOverDates({ numerators, denominators }: DateSums): DateRatio {
  const weight = mean(denominators);
  const ratio = mean(numerators) / weight;
  const error = errorOverDates(numerators.map((a, i) => a - ratio * denominators[i]!));
  return { ratio, error: error === null ? null : error / weight };
}
