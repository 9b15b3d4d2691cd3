import { type Day, MILLISECONDS_PER_DAY } from "../../contract/market/dates.ts";
import { type Band, MIN_DATES, meanQuantile } from "../../contract/output/test-quantile.ts";
import type { OnDate } from "../../evaluate/cross-section.ts";
import { type ForecastRows, labelled } from "../../evaluate/forecast-rows.ts";
import { meanError } from "../../evaluate/mean-test.ts";
import { eachDate, type RowsByDate, sortedByDate } from "../../evaluate/rows-by-date.ts";
import { mean } from "../../evaluate/statistics.ts";

export type { Band };

/** Half the width of a 95 % band in errors of `meanError`. @param dates of the error, at least MIN_DATES. */
function bandQuantile(dates: number): number {
  return meanQuantile(dates, 0.975);
}

/** The 95 % band of an estimate. @param error over `dates`, as of `meanError`; without an error there is no band. */
export function bandOf(value: number | null, error: number | null, dates: number): Band | null {
  if (value === null || error === null || dates < MIN_DATES) return null;
  const half = bandQuantile(dates) * error;
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

/** The 95 % band of a mean over dates. @param values in time order. */
export function meanBand(values: Float64Array): Band | null {
  return bandOf(mean(values), errorOverDates(values), values.length);
}

/** Sums over the rows of each date: a ratio of their totals is a mean, a share or an R² over rows. */
export interface DateSums {
  readonly numerators: Float64Array;
  /** Each above 0. */
  readonly denominators: Float64Array;
}

/** A ratio of totals over dates, its standard error and its 95 % band. */
interface DateRatio {
  readonly ratio: number;
  readonly error: number | null;
  readonly band: Band | null;
}

/**
 * The ratio r = sum of a / sum of b over dates, and its error with dates as the units, since the rows of a date move together: the
 * error of the mean of the linearised values a - r b, divided by the mean of b (Cochran, "Sampling Techniques", 1977, 6.4).
 */
export function ratioOverDates({ numerators, denominators }: DateSums): DateRatio {
  const weight = mean(denominators);
  const ratio = mean(numerators) / weight;
  const linearised = errorOverDates(numerators.map((a, i) => a - ratio * denominators[i]!));
  const error = linearised === null ? null : linearised / weight;
  return { ratio, error, band: bandOf(ratio, error, numerators.length) };
}

type Term = (realised: number, predicted: number) => number;

/** What a row adds to the sums of its date. */
export interface RowTerms {
  readonly numerator: Term;
  readonly denominator: Term;
}

const isSigned = (y: number, p: number) => y !== 0 && p !== 0;

/** The share of equal signs, over rows where neither side is 0. */
export const HIT_RATE: RowTerms = {
  numerator: (y, p) => (isSigned(y, p) && y > 0 === p > 0 ? 1 : 0),
  denominator: (y, p) => (isSigned(y, p) ? 1 : 0),
};

/** Sums by date, ascending, for dates whose denominator is above 0. @param rows labelled. */
export function dateSums(rows: RowsByDate, { numerator, denominator }: RowTerms): DateSums {
  const numerators: number[] = [];
  const denominators: number[] = [];
  for (const { realised, predicted } of eachDate(rows)) {
    let [above, below] = [0, 0];
    for (let i = 0; i < realised.length; i++) {
      above += numerator(realised[i]!, predicted[i]!);
      below += denominator(realised[i]!, predicted[i]!);
    }
    if (!(below > 0)) continue;
    numerators.push(above);
    denominators.push(below);
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
  return ratioOverDates(dateSums(sortedByDate(rows.map(labelled)), HIT_RATE)).error;
}

/** IC and RankIC of each date that counts, ascending: shape (n) each. */
export interface DateSkill {
  readonly days: Int32Array;
  readonly ic: Float64Array;
  readonly rankIc: Float64Array;
  /** The number of tickers of the date. */
  readonly tickers: Int32Array;
}

/** Collects the values of `crossSection` by date. */
export class DateSkillCollector {
  readonly #found: { day: Day; ic: number; rankIc: number; tickers: number }[] = [];

  readonly onDate: OnDate = (day, { ic, rankIc }, tickers) => {
    this.#found.push({ day, ic, rankIc, tickers });
  };

  collected(): DateSkill {
    return {
      days: Int32Array.from(this.#found, ({ day }) => day),
      ic: Float64Array.from(this.#found, ({ ic }) => ic),
      rankIc: Float64Array.from(this.#found, ({ rankIc }) => rankIc),
      tickers: Int32Array.from(this.#found, ({ tickers }) => tickers),
    };
  }
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
  return error === null ? Number.NaN : bandQuantile(values.length) * error * Math.sqrt(values.length);
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
  for (let i = 0; i < days.length; ) {
    const { year, month } = monthOf(days[i]!);
    const from = i;
    const end = Date.UTC(year, month, 1) / MILLISECONDS_PER_DAY;
    while (i < days.length && days[i]! < end) i++;
    found.push({ year, month, from, to: i });
  }
  return found;
}

/** Like `months`; `month` is that of the first day. */
export function years(days: Int32Array): Period[] {
  const found: Period[] = [];
  for (const month of months(days)) {
    const last = found.at(-1);
    if (last?.year === month.year) found[found.length - 1] = { ...last, to: month.to };
    else found.push(month);
  }
  return found;
}

function monthOf(day: Day): { year: number; month: number } {
  const date = new Date(day * MILLISECONDS_PER_DAY);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1 };
}
