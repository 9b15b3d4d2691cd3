import type { ChoiceMeasure } from "../../contract/config/choice/choice-config.ts";
import type { Day } from "../../contract/market/dates.ts";
import { icSeries } from "./candidate-ics.ts";

/** The rows of one ticker that folds test, and every candidate's forecasts of them. */
export interface TestedTicker {
  readonly ticker: string;
  /** Shape (n), ascending: the market date of each row. */
  readonly days: Int32Array;
  /** Shape (n), ascending: the date at whose close the label is known. */
  readonly labelDays: Int32Array;
  /** Shape (n): labels, log-return. */
  readonly realised: Float64Array;
  /** One per candidate, shape (n): forecasts, NaN where the candidate has none. */
  readonly predicted: readonly Float64Array[];
  /** Mean squared label of the rows that the first fold trains on; losses are in this unit. A ticker without fold, or with 0, has no losses. */
  readonly unit: number;
  /** The ticker's folds in time order: rows [from, to) of this ticker, forecast at the close of `first` and later. */
  readonly folds: readonly TestedFold[];
}

export interface TestedFold {
  readonly from: number;
  readonly to: number;
  readonly first: Day;
}

/** Losses by label date, so that those known at a date are a prefix. */
export interface LossSeries {
  /** Shape (D), ascending: label dates on which a ticker has a loss. */
  readonly days: Int32Array;
  /** The candidate that the others are compared with. */
  readonly reference: number;
  /**
   * One per candidate, shape (D): by squared error, the mean over the tickers of the squared error less that of the reference, each in the
   * ticker's unit; by IC, the reference's IC less the candidate's. NaN on dates that cannot compare both.
   */
  readonly excess: readonly Float64Array[];
}

/**
 * The losses of candidates by label date.
 * @param tickers ascending by code point, which is the order of the sums.
 * @param reference the candidate that the others are compared with; undefined for the one with the most rows, the first of several.
 */
export function lossSeries(
  tickers: readonly TestedTicker[],
  candidates: number,
  measure: ChoiceMeasure,
  reference?: number,
): LossSeries {
  const rated = tickers.filter(({ unit, days }) => unit > 0 && days.length > 0);
  const compared = reference ?? mostRows(rated, candidates);
  return SERIES[measure](rated, candidates, compared);
}

const SERIES: Readonly<Record<ChoiceMeasure, typeof icSeries>> = {
  squared_error: squaredErrorSeries,
  ic: icSeries,
};

function squaredErrorSeries(
  rated: readonly TestedTicker[],
  candidates: number,
  compared: number,
): LossSeries {
  const days = distinctDays(rated);
  const position = new Map([...days].map((day, i) => [day, i]));
  const sums = Array.from({ length: candidates }, () => new Float64Array(days.length));
  const counts = Array.from({ length: candidates }, () => new Int32Array(days.length));
  for (const { labelDays, realised, predicted, unit } of rated) {
    const base = predicted[compared]!;
    for (const [c, own] of predicted.entries()) {
      for (let i = 0; i < own.length; i++) {
        const excess = squaredExcess(realised[i]!, own[i]!, base[i]!) / unit;
        if (Number.isNaN(excess)) continue;
        const at = position.get(labelDays[i]!)!;
        sums[c]![at]! += excess;
        counts[c]![at]! += 1;
      }
    }
  }
  return {
    days,
    reference: compared,
    excess: sums.map((sum, c) => sum.map((value, d) => value / counts[c]![d]!)),
  };
}

/** (y - p)² - (y - r)², without the cancellation of the squares. */
export function squaredExcess(y: number, p: number, r: number): number {
  return (r - p) * (2 * y - p - r);
}

function distinctDays(tickers: readonly TestedTicker[]): Int32Array {
  const days = new Set<Day>();
  for (const { labelDays } of tickers) for (const day of labelDays) days.add(day);
  return Int32Array.from(days).sort();
}

function mostRows(tickers: readonly TestedTicker[], candidates: number): number {
  const rows = Array.from({ length: candidates }, (_, c) =>
    tickers.reduce((sum, { predicted }) => sum + finiteCount(predicted[c]!), 0),
  );
  return rows.indexOf(Math.max(...rows));
}

function finiteCount(values: Float64Array): number {
  return values.reduce((count, value) => (Number.isNaN(value) ? count : count + 1), 0);
}

/** The number of dates at or before `day`. @param days ascending. */
export function countKnown(days: Int32Array, day: Day): number {
  let [low, high] = [0, days.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (days[middle]! <= day) low = middle + 1;
    else high = middle;
  }
  return low;
}
