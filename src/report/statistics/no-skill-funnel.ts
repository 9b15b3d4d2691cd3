import { errorOverDates, NORMAL_975 } from "./over-dates.ts";

/**
 * Half the width of the band around 0 that holds 95 % of the sums of a forecast without skill: NORMAL_975 sqrt(k V) after k
 * dates. V is the Newey-West variance of the values themselves, so a sum of all of them leaves the band exactly where their t
 * is beyond NORMAL_975. The variance 1 / (tickers - 1) that shuffled forecasts have is too small where tickers move
 * together and forecasts favour the same ones for weeks.
 *
 * Each date is looked at on its own: some date of a whole path lies outside more often.
 * @param values by date, in time order: shape (n).
 * @returns shape (n); NaN of fewer than LEAST_DATES, or without a variance.
 */
export function noSkillFunnel(values: Float64Array): Float64Array {
  const deviation = dateDeviation(values);
  return values.map((_, i) => NORMAL_975 * deviation * Math.sqrt(i + 1));
}

/** The same for the mean of `count` successive values. */
export function noSkillMean(values: Float64Array, count: number): number {
  return (NORMAL_975 * dateDeviation(values)) / Math.sqrt(count);
}

/** Root of the Newey-West variance of one date. */
function dateDeviation(values: Float64Array): number {
  const error = errorOverDates(values);
  return error === null ? Number.NaN : error * Math.sqrt(values.length);
}
