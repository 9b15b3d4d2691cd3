import { bandQuantile, errorOverDates } from "./over-dates.ts";

/**
 * Half the width of the band around 0 that holds 95 % of the sums of a forecast without skill: q sqrt(k V) after k dates, with q
 * the fixed-b quantile for all dates. V is the Newey-West variance of the values themselves, so a sum of all of them leaves the band
 * exactly where their t is beyond q. The variance 1 / (tickers - 1) that shuffled forecasts have is too small where tickers move
 * together and forecasts favour the same ones for weeks.
 *
 * Each date is looked at on its own: some date of a whole path lies outside more often.
 * @param values by date, in time order: shape (n).
 * @returns shape (n); NaN of fewer than MIN_DATES, or without a variance.
 */
export function noSkillFunnel(values: Float64Array): Float64Array {
  const half = dateHalf(values);
  return values.map((_, i) => half * Math.sqrt(i + 1));
}

/** The same for the mean of `count` successive values. */
export function noSkillMean(values: Float64Array, count: number): number {
  return dateHalf(values) / Math.sqrt(count);
}

/** The quantile times the root of the Newey-West variance of one date. */
function dateHalf(values: Float64Array): number {
  const error = errorOverDates(values);
  return error === null ? Number.NaN : bandQuantile(values.length) * error * Math.sqrt(values.length);
}
