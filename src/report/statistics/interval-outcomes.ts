import { atOnce } from "../../contract/machine/pausable.ts";
import { type Bounds, hasNoEnds } from "../../evaluate/conformal.ts";
import type { ForecastRows } from "../../evaluate/forecast-rows.ts";
import { eachDate, sortedByDate } from "../../evaluate/rows-by-date.ts";
import { median } from "../../evaluate/statistics.ts";
import { type Band, bandOf, type DateSums, ratioOverDates } from "./over-dates.ts";

/** Score rows of one ticker with their ends; `trainingMean` is NaN where the output does not have it. */
export interface ScoredRows extends ForecastRows, Bounds {}

/** Labelled rows that have an end, in the order of their dates: shape (n) each. */
export interface IntervalOutcomes {
  readonly ticker: string;
  readonly days: Int32Array;
  /** -1 for a label below its interval, 1 above it, 0 inside, ends included. */
  readonly side: Float64Array;
  /** Distance of the ends; of a one-sided interval that of its end from the forecast. */
  readonly width: Float64Array;
}

/** The rows of a ticker that tell how often intervals held. */
export function intervalOutcomes(rows: ScoredRows): IntervalOutcomes {
  const counted = rows.days
    .map((_, i) => i)
    .filter((i) => !Number.isNaN(rows.realised[i]!) && !hasNoEnds(rows, i));
  const side = new Float64Array(counted.length);
  const width = new Float64Array(counted.length);
  for (let k = 0; k < counted.length; k++) {
    side[k] = sideOf(rows, counted[k]!);
    width[k] = widthOf(rows, counted[k]!);
  }
  return { ticker: rows.ticker, days: counted.map((i) => rows.days[i]!), side, width };
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

/** How many labels were inside, and how many counted, by date. */
export interface DateCoverage extends DateSums {
  readonly days: Int32Array;
}

export function dateCoverage(outcomes: readonly IntervalOutcomes[]): DateCoverage {
  const dates = [...eachOutcome(outcomes)];
  return {
    days: Int32Array.from(dates, ({ day }) => day),
    numerators: Float64Array.from(dates, ({ realised: sides }) => sides.filter((side) => side === 0).length),
    denominators: Float64Array.from(dates, ({ realised: sides }) => sides.length),
  };
}

/** Date after date, with widths in place of forecasts and sides in place of labels. */
function eachOutcome(outcomes: readonly IntervalOutcomes[]) {
  const rows = outcomes.map(({ ticker, days, side, width }) => ({
    ticker,
    days,
    predicted: width,
    realised: side,
  }));
  return eachDate(atOnce(sortedByDate(rows)));
}

/** The 95 % band of the coverage over all rows. */
export function coverageBand(outcomes: readonly IntervalOutcomes[]): Band | null {
  const { ratio, error } = ratioOverDates(dateCoverage(outcomes));
  return bandOf(ratio, error);
}

/** The median width of each date, ascending. */
export function medianWidths(outcomes: readonly IntervalOutcomes[]): Float64Array {
  return Float64Array.from(eachOutcome(outcomes), ({ predicted: widths }) => median(widths)!);
}
