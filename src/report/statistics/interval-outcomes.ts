import { hasNoEnds } from "../../evaluate/intervals/conformal.ts";
import { eachDate, type RowsByDate, sortedByDate } from "../../evaluate/rows-by-date.ts";
import { median } from "../../evaluate/statistics.ts";
import type { ScoredRows } from "../../outputs/scored-rows.ts";
import type { DateSums } from "./over-dates.ts";

/** Labelled rows with an end, in date order: shape (n) each. */
export interface IntervalOutcomes {
  readonly ticker: string;
  readonly days: Int32Array;
  /** -1 for a label below its interval, 1 for one above, 0 for one inside, ends included. */
  readonly side: Float64Array;
  /** Distance between the ends; for a one-sided interval, the distance from its end to the forecast. */
  readonly width: Float64Array;
}

/** The rows of a ticker that determine the coverage of its intervals. */
export function intervalOutcomes(rows: ScoredRows): IntervalOutcomes {
  const { ticker, realised } = rows;
  const days = new Int32Array(realised.length);
  const side = new Float64Array(realised.length);
  const width = new Float64Array(realised.length);
  let n = 0;
  for (let i = 0; i < realised.length; i++) {
    if (Number.isNaN(realised[i]!) || hasNoEnds(rows, i)) continue;
    days[n] = rows.days[i]!;
    side[n] = sideOf(rows, i);
    width[n++] = widthOf(rows, i);
  }
  return { ticker, days: days.subarray(0, n), side: side.subarray(0, n), width: width.subarray(0, n) };
}

function sideOf({ realised, lower, upper }: ScoredRows, i: number): number {
  if (realised[i]! < lower[i]!) return -1;
  return realised[i]! > upper[i]! ? 1 : 0;
}

function widthOf({ predicted, lower, upper }: ScoredRows, i: number): number {
  const low = Number.isNaN(lower[i]!) ? predicted[i]! : lower[i]!;
  const high = Number.isNaN(upper[i]!) ? predicted[i]! : upper[i]!;
  return high - low;
}

/** The number of labels inside their interval, and the number of labels, by date. */
export interface DateCoverage extends DateSums {
  readonly days: Int32Array;
}

/** The outcomes of all tickers by date, with widths in place of forecasts and sides in place of labels. */
export function outcomesByDate(outcomes: readonly IntervalOutcomes[]): RowsByDate {
  const rows = outcomes.map(({ ticker, days, side, width }) => ({
    ticker,
    days,
    predicted: width,
    realised: side,
  }));
  return sortedByDate(rows);
}

/** @param outcomes of `outcomesByDate`. */
export function dateCoverage(outcomes: RowsByDate): DateCoverage {
  const dates = [...eachDate(outcomes)];
  return {
    days: Int32Array.from(dates, ({ day }) => day),
    numerators: Float64Array.from(dates, ({ realised: sides }) => countOf(sides, 0)),
    denominators: Float64Array.from(dates, ({ realised: sides }) => sides.length),
  };
}

/** The number of outcomes on a side. */
export function countOf(sides: Float64Array, side: -1 | 0 | 1): number {
  let count = 0;
  for (let i = 0; i < sides.length; i++) if (sides[i] === side) count++;
  return count;
}

/** The median width of each date, ascending. @param outcomes of `outcomesByDate`. */
export function medianWidths(outcomes: RowsByDate): Float64Array {
  return Float64Array.from(eachDate(outcomes), ({ predicted: widths }) => median(widths)!);
}
