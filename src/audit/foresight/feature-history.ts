import type { TickerFeatures, TickerPrices } from "../../contract/market/ticker-series.ts";
import { labelPrices } from "../../panel/labels.ts";
import { priceDates } from "../../panel/price-dates.ts";
import { joinRows } from "../../panel/rows.ts";
import type { ResolvedWindow } from "../../panel/window.ts";

/** One ticker inside the window: prices and labels by price date, and the price date of each feature row. */
export interface TickerHistory {
  readonly ticker: string;
  /** Shape (m), ascending: dates with a price. */
  readonly days: Int32Array;
  /** Shape (m). */
  readonly prices: Float64Array;
  /** Shape (m): return to the next price date, known there; NaN without one. */
  readonly y: Float64Array;
  /** Shape (m): what the job learns: the return from `delay` price dates later to the next one, NaN without one. */
  readonly labels: Float64Array;
  readonly delay: number;
  /** The feature blob's own rows, including those outside the window or without a price. */
  readonly features: TickerFeatures;
  /** Shape (r), ascending: the price date of each feature row that has one. */
  readonly priceRows: Int32Array;
  /** Shape (r), ascending: the same rows in `features`. */
  readonly featureRows: Int32Array;
  /** Ascending: the rows of `features` in the window without a price. */
  readonly unpricedRows: Int32Array;
}

/** All labelled rows of the window count, before and after the cut. */
export function tickerHistory(
  prices: TickerPrices,
  features: TickerFeatures,
  window: Pick<ResolvedWindow, "start" | "end" | "delay">,
): TickerHistory {
  const { start, end, delay = 0 } = window;
  const priced = priceDates(prices, window);
  const { y: labels, returns } = labelPrices(priced.days, priced.prices, delay);
  const joined = joinRows(priced.days, features.days);
  const isPriced = new Set(joined.feature);
  const isUnpriced = (row: number) =>
    !isPriced.has(row) && features.days[row]! >= start && features.days[row]! <= end;
  return {
    ticker: features.ticker,
    days: priced.days,
    prices: priced.prices,
    y: returns,
    labels,
    delay,
    features,
    priceRows: joined.price,
    featureRows: joined.feature,
    unpricedRows: Int32Array.from(features.days.keys()).filter(isUnpriced),
  };
}

/** One feature of a ticker, NaN if missing. */
export interface Feature {
  readonly name: string;
  /** Shape (n): on every row of the blob. */
  readonly all: Float64Array;
  /** Shape (r): on the rows with a price. */
  readonly x: Float64Array;
  /** Shape (r): the change since the previous of these rows; NaN on the first one and if either value is missing. */
  readonly dx: Float64Array;
}

export function featureOf({ features, featureRows }: TickerHistory, column: number): Feature {
  const n = features.days.length;
  const all = features.values.subarray(column * n, (column + 1) * n);
  const x = pick(all, featureRows);
  return {
    name: features.columns[column]!,
    all,
    x,
    dx: x.map((value, i) => value - (x[i - 1] ?? Number.NaN)),
  };
}

/** The values of the given rows, in their order. */
export function pick(values: Float64Array, rows: Int32Array): Float64Array {
  const picked = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) picked[i] = values[rows[i]!]!;
  return picked;
}
