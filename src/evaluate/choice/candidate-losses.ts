import type { ChoiceMeasure } from "../../contract/config/choice-config.ts";
import type { Day } from "../../contract/market/dates.ts";
import { sliceRows, valuesAt } from "../forecast-rows.ts";
import { type DateRange, dateLayout, datesWith, valuesByDate } from "../rows-by-date.ts";
import { correlation, finiteOrNull, isConstant, mean } from "../statistics.ts";

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

export function sliceTested(ticker: TestedTicker, from: number, to?: number): TestedTicker {
  const predicted = ticker.predicted.map((own) => own.subarray(from, to));
  return { ...sliceRows(ticker, from, to), predicted };
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
  const counts = Array.from({ length: candidates }, (_, c) =>
    rated.reduce((sum, { predicted }) => sum + withoutNaN(predicted[c]!).length, 0),
  );
  const compared = reference ?? counts.indexOf(Math.max(...counts));
  const { laid, dates } = byLabelDate(rated);
  const excessSquares = (c: number) => {
    const values = laid(({ realised, predicted, unit }) =>
      predicted[c]!.map((own, i) => squaredExcess(realised[i]!, own, predicted[compared]![i]!) / unit),
    );
    return Float64Array.from(dates, ({ from, to }) => mean(withoutNaN(values.subarray(from, to))));
  };
  const excessIc = (c: number) => {
    const labels = laid(({ realised }) => realised);
    const own = laid(({ predicted }) => predicted[c]!);
    const base = laid(({ predicted }) => predicted[compared]!);
    return Float64Array.from(dates, (date) => icOf(date, labels, base, own) - icOf(date, labels, own, base));
  };
  return {
    days: Int32Array.from(dates, ({ day }) => day),
    reference: compared,
    excess: [...counts.keys()].map(measure === "ic" ? excessIc : excessSquares),
  };
}

/** The rows of all tickers by label date. @param rated ascending by code point. */
function byLabelDate(rated: readonly TestedTicker[]) {
  const layout = dateLayout(rated.map(({ labelDays }) => ({ days: labelDays })));
  const laid = (of: (ticker: TestedTicker) => Float64Array) => valuesByDate(layout, rated.map(of));
  return { laid, dates: [...datesWith(layout)] };
}

/** (y - p)² - (y - r)², without the cancellation of the squares. */
export function squaredExcess(y: number, p: number, r: number): number {
  return (r - p) * (2 * y - p - r);
}

/** The mean IC over label dates of the forecasts of one candidate; null without a date that has an IC. */
export function meanIc(tickers: readonly TestedTicker[], candidate: number): number | null {
  const { laid, dates } = byLabelDate(tickers);
  const labels = laid(({ realised }) => realised);
  const own = laid(({ predicted }) => predicted[candidate]!);
  return finiteOrNull(mean(withoutNaN(Float64Array.from(dates, (date) => icOf(date, labels, own, own)))));
}

/** Fewer tickers on a date have no IC, as in the verdict. */
export const MIN_IC_TICKERS = 5;

/**
 * The IC on the rows that also have another forecast. Forecasts that are all the same have no order, which is an IC of 0. NaN for fewer than
 * MIN_IC_TICKERS rows, and if their labels are all the same.
 */
function icOf(
  { from, to }: DateRange,
  labels: Float64Array,
  forecasts: Float64Array,
  others: Float64Array,
): number {
  const places: number[] = [];
  for (let i = from; i < to; i++)
    if (!Number.isNaN(forecasts[i]!) && !Number.isNaN(others[i]!)) places.push(i);
  const y = valuesAt(labels, places);
  if (y.length < MIN_IC_TICKERS || isConstant(y)) return Number.NaN;
  return correlation(y, valuesAt(forecasts, places)) ?? 0;
}

export function withoutNaN(values: Float64Array): Float64Array {
  return values.filter((value) => !Number.isNaN(value));
}

export function countKnown(days: Int32Array, day: Day): number {
  return days.filter((each) => each <= day).length;
}
