import { MILLISECONDS_PER_DAY } from "../../contract/market/dates.ts";
import { type Band, MIN_DATES, meanQuantile } from "../../contract/output/test-quantile.ts";
import { type ForecastRows, labelled } from "../../evaluate/forecast-rows.ts";
import { meanError } from "../../evaluate/mean-test.ts";
import { eachDate, type RowsByDate, sortedByDate } from "../../evaluate/rows-by-date.ts";
import { mean } from "../../evaluate/statistics.ts";

export type { Band };

/** Of the one-sided test: bands of 90 % and of 95 %. */
type Probability = 0.95 | 0.975;

/**
 * The band of an estimate, of 95 % if nothing else is said.
 * @param error over `dates`, as of `meanError`; without an error there is no band.
 */
export function bandOf(
  value: number | null,
  error: number | null,
  dates: number,
  probability: Probability = 0.975,
): Band | null {
  if (value === null || error === null || dates < MIN_DATES) return null;
  const half = meanQuantile(dates, probability) * error;
  return { low: value - half, high: value + half };
}

/**
 * The standard error of a mean over dates whose values may correlate over time.
 * @param values in time order.
 * @returns null for fewer than MIN_DATES, or without a variance.
 */
function errorOverDates(values: Float64Array): number | null {
  return values.length < MIN_DATES ? null : meanError(values);
}

/** The band of a mean over dates. @param values in time order. */
export function meanBand(values: Float64Array, probability?: Probability): Band | null {
  return bandOf(mean(values), errorOverDates(values), values.length, probability);
}

/** Sums over the rows of each date: a ratio of their totals is a mean, a share or an R² over rows. */
export interface DateSums {
  readonly numerators: Float64Array;
  /** Each above 0. */
  readonly denominators: Float64Array;
}

interface DateRatio {
  readonly ratio: number;
  readonly error: number | null;
  readonly band: Band | null;
}

/**
 * The ratio r = sum of a / sum of b over dates, and its error with dates as the units, since the rows of a date move together: the
 * error of the mean of the linearised values a - r b, divided by the mean of b (Cochran, "Sampling Techniques", 1977, 6.4).
 */
export function ratioOverDates({ numerators, denominators }: DateSums, probability?: Probability): DateRatio {
  const weight = mean(denominators);
  const ratio = mean(numerators) / weight;
  const linearised = errorOverDates(numerators.map((a, i) => a - ratio * denominators[i]!));
  const error = linearised === null ? null : linearised / weight;
  return { ratio, error, band: bandOf(ratio, error, numerators.length, probability) };
}

/** Rows with equal signs by date, among those where neither side is 0. @param rows labelled. */
export function signedRows(rows: RowsByDate): DateSums {
  const numerators: number[] = [];
  const denominators: number[] = [];
  for (const { realised, predicted } of eachDate(rows)) {
    let [equal, signed] = [0, 0];
    for (let i = 0; i < realised.length; i++) {
      const [y, p] = [realised[i]!, predicted[i]!];
      if (y === 0 || p === 0) continue;
      signed++;
      if (y > 0 === p > 0) equal++;
    }
    if (signed === 0) continue;
    numerators.push(equal);
    denominators.push(signed);
  }
  return { numerators: Float64Array.from(numerators), denominators: Float64Array.from(denominators) };
}

/**
 * The standard error of the hit rate with dates as units: the tickers of a date move together, so the binomial error over rows is too
 * small.
 * @param rows labelled or not.
 * @returns null for fewer than MIN_DATES dates with a signed row.
 */
export function hitRateErrorOf(rows: readonly ForecastRows[]): number | null {
  return ratioOverDates(signedRows(sortedByDate(rows.map(labelled)))).error;
}

/**
 * Half the width of the band around 0 that contains 95 % of the sums of a forecast without skill: q sqrt(k V) after k dates, with q
 * the quantile for all dates. V is the long-run variance of the values themselves, so the sum of all values leaves the band
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

/** The quantile times the square root of the long-run variance of one date. */
function dateHalf(values: Float64Array): number {
  const error = errorOverDates(values);
  return error === null ? Number.NaN : meanQuantile(values.length, 0.975) * error * Math.sqrt(values.length);
}

/** Successive positions [from, to) whose days lie in one month, or one year. */
export interface Period {
  readonly year: number;
  /** From 1 to 12. */
  readonly month: number;
  readonly from: number;
  readonly to: number;
}

/** @param days ascending. */
export function months(days: Int32Array): Period[] {
  const found: Period[] = [];
  for (let from = 0; from < days.length; ) {
    const date = new Date(days[from]! * MILLISECONDS_PER_DAY);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + 1];
    const end = Date.UTC(year, month, 1) / MILLISECONDS_PER_DAY;
    let to = from;
    while (to < days.length && days[to]! < end) to++;
    found.push({ year, month, from, to });
    from = to;
  }
  return found;
}

/** Like `months`; `month` is that of the first day. */
export function years(days: Int32Array): Period[] {
  return [...Map.groupBy(months(days), ({ year }) => year).values()].map((group) => ({
    ...group[0]!,
    to: group.at(-1)!.to,
  }));
}
