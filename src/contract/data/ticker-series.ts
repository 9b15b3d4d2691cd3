import type { Day } from "./dates.ts";

/** Most columns of a ticker in a blob. */
export const MOST_COLUMNS = 10_000;

/**
 * What reading a blob gives, one ticker at a time. Days ascend strictly; a missing value is NaN (null, NaN and
 * Infinity of the blob alike, so every other entry is finite).
 */
export interface TickerPrices {
  readonly ticker: string;
  /** Shape (n). */
  readonly days: Int32Array;
  /** Shape (n), in currency; may be zero or negative, which the panel refuses. */
  readonly prices: Float64Array;
}

export interface TickerFeatures {
  readonly ticker: string;
  /** Shape (n). */
  readonly days: Int32Array;
  /** The k feature names, in the order of first appearance for this ticker in the blob's bytes. */
  readonly columns: readonly string[];
  /** Shape (k, n), one column after the other: the value of column c on day i is `values[c * n + i]`. */
  readonly values: Float64Array;
}

/** The window as the data-extraction blob gives it; a bound that is null or missing is absent. */
export interface RequestedWindow {
  readonly start?: Day;
  readonly end?: Day;
  /** Last day whose labels may be learned. */
  readonly learningEnd?: Day;
}

/** A blob's bytes, decompressed, as a stream that can be read once. */
export interface ByteSource {
  /** What errors call it: a path, or a URL without its query string. */
  readonly name: string;
  readonly chunks: AsyncIterable<Uint8Array>;
}
