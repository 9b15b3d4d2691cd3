import { bandQuantile, errorOverDates } from "./over-dates.ts";

/**
 * Half the width of the band around 0 that contains 95 % of the sums of a forecast without skill: q sqrt(k V) after k dates, with q
 * the fixed-b quantile for all dates. V is the Newey-West variance of the values themselves, so the sum of all values leaves the band
 * exactly if their t exceeds q. The variance 1 / (tickers - 1) of shuffled forecasts is too small if tickers move together and
 * forecasts favour the same tickers for weeks.
 *
 * The band holds for each date separately: a whole path leaves it on some date more often.
 * @param values by date, in time order: shape (n).
 * @returns shape (n); NaN for fewer than MIN_DATES, or without a variance.
 */
export function noSkillFunnel(values: Float64Array): Float64Array {
  const half = dateHalf(values);
  return values.map((_, i) => half * Math.sqrt(i + 1));
}

/** The same for the mean of `count` successive values. */
export function noSkillMean(values: Float64Array, count: number): number {
  return dateHalf(values) / Math.sqrt(count);
}

/** The quantile times the square root of the Newey-West variance of one date. */
function dateHalf(values: Float64Array): number {
  const error = errorOverDates(values);
  return error === null ? Number.NaN : bandQuantile(values.length) * error * Math.sqrt(values.length);
}
