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
}

/** One feature of a ticker on its r rows with a price, NaN if missing. */
export interface FeatureColumn {
  readonly name: string;
  /** Shape (r). */
  readonly x: Float64Array;
}

/** All labelled rows of the window count, before and after the cut. */
export function tickerHistory(
  prices: TickerPrices,
  features: TickerFeatures,
  window: Pick<ResolvedWindow, "start" | "end" | "delay">,
): TickerHistory {
  const { delay = 0 } = window;
  const priced = priceDates(prices, window);
  const { y: labels, returns } = labelPrices(priced.days, priced.prices, delay);
  const joined = joinRows(priced.days, features.days);
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
  };
}

/** Shape (n): every value of a column, NaN if missing. */
export function columnValues({ features }: TickerHistory, column: number): Float64Array {
  const n = features.days.length;
  return features.values.subarray(column * n, (column + 1) * n);
}

export function featureColumn(history: TickerHistory, column: number): FeatureColumn {
  const values = columnValues(history, column);
  return { name: history.features.columns[column]!, x: pick(values, history.featureRows) };
}

/** The values of the given rows, in their order. */
export function pick(values: Float64Array, rows: Int32Array): Float64Array {
  const picked = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) picked[i] = values[rows[i]!]!;
  return picked;
}

/** Shape (r): change since the previous row; NaN on the first row and if either value is missing. */
export function changes(x: Float64Array): Float64Array {
  return x.map((value, i) => (i === 0 ? Number.NaN : value - x[i - 1]!));
}
