import { MIN_DATES, NEWEY_WEST_LAG, neweyWestError, neweyWestQuantile } from "../../evaluate/newey-west.ts";
import { mean } from "../../evaluate/statistics.ts";

/** A 95 % band. */
export interface Band {
  readonly low: number;
  readonly high: number;
}

/**
 * Half the width of a 95 % band in Newey-West errors: the fixed-b quantile of 0.975 (Kiefer and Vogelsang 2005), which is above the
 * normal 1.96 because the error is too small over few dates.
 * @param dates of the error, at least MIN_DATES.
 */
export function bandQuantile(dates: number, lag = NEWEY_WEST_LAG): number {
  return neweyWestQuantile(dates, 0.975, lag);
}

/** The 95 % band of an estimate. @param error over `dates`, by Newey and West with `lag`; without an error there is no band. */
export function bandOf(
  value: number | null,
  error: number | null,
  dates: number,
  lag = NEWEY_WEST_LAG,
): Band | null {
  if (value === null || error === null || dates < MIN_DATES) return null;
  const half = bandQuantile(dates, lag) * error;
  return { low: value - half, high: value + half };
}

/**
 * The standard error of a mean over dates whose values may correlate over time.
 * @param values in time order.
 * @returns null for fewer than MIN_DATES, or without a variance.
 */
export function errorOverDates(values: Float64Array, lag = NEWEY_WEST_LAG): number | null {
  return values.length < MIN_DATES ? null : neweyWestError(values, lag);
}

/** The 95 % band of a mean over dates. @param values in time order. */
export function meanBand(values: Float64Array, lag = NEWEY_WEST_LAG): Band | null {
  return bandOf(mean(values), errorOverDates(values, lag), values.length, lag);
}

/** Sums over the rows of each date: a ratio of their totals is a mean, a share or an R² over rows. */
export interface DateSums {
  readonly numerators: Float64Array;
  /** Each above 0. */
  readonly denominators: Float64Array;
}

/** A ratio of totals over dates, its standard error and its 95 % band. */
export interface DateRatio {
  readonly ratio: number;
  readonly error: number | null;
  readonly band: Band | null;
}

/**
 * The ratio r = sum of a / sum of b over dates, and its error with dates as the units, since the rows of a date move together: the
 * error of the mean of the linearised values a - r b, divided by the mean of b (Cochran, "Sampling Techniques", 1977, 6.4), by Newey
 * and West.
 */
export function ratioOverDates({ numerators, denominators }: DateSums): DateRatio {
  const weight = mean(denominators);
  const ratio = mean(numerators) / weight;
  const linearised = errorOverDates(numerators.map((a, i) => a - ratio * denominators[i]!));
  const error = linearised === null ? null : linearised / weight;
  return { ratio, error, band: bandOf(ratio, error, numerators.length) };
}
