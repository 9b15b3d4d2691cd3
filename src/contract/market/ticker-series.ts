import type { Day } from "./dates.ts";

/** Maximum number of columns of a ticker in a blob. */
export const MAX_COLUMNS = 10_000;

/**
 * One ticker of a data-extraction blob. Days ascend strictly. A missing value is NaN; the blob's null, NaN and Infinity
 * all become NaN, so every other entry is finite.
 */
export interface TickerPrices {
  readonly ticker: string;
  /** Shape (n). */
  readonly days: Int32Array;
  /** Shape (n), in currency; may be zero or negative, which the panel refuses. */
  readonly prices: Float64Array;
}

/** Columns of one ticker on the same days; days and missing values as in `TickerPrices`. */
export interface TickerSeries {
  readonly ticker: string;
  /** Shape (n). */
  readonly days: Int32Array;
  /** k names. */
  readonly columns: readonly string[];
  /** Shape (k, n), one column after the other: column c on day i is `values[c * n + i]`. */
  readonly values: Float64Array;
}

/** One ticker of a feature blob: its features, in the order in which they first appear for this ticker in the blob. */
export type TickerFeatures = TickerSeries;

/** Prices as a series of one column, for code that compares or writes blobs of either kind. */
export function priceSeries({ ticker, days, prices }: TickerPrices): TickerSeries {
  return { ticker, days, columns: ["price"], values: prices };
}

/** The window of a data-extraction blob; a bound that is null or missing is absent. */
export interface RequestedWindow {
  readonly start?: Day;
  readonly end?: Day;
  /** Last day whose labels may be learned. */
  readonly learningEnd?: Day;
}

/** A blob's decompressed bytes, as a stream that can be read once. */
export interface ByteSource {
  /** Its name in errors: a path, or a URL without its query string. */
  readonly name: string;
  readonly chunks: AsyncIterable<Uint8Array>;
}
