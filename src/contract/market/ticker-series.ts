import { counted } from "../errors/wording.ts";
import type { Day } from "./dates.ts";

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

/** What is known of a ticker's price at the close of each of its price dates. */
export interface TickerExposures {
  readonly days: Int32Array;
  /** Shape (n, EXPOSURES), row-major; NaN if the history is too short. */
  readonly values: Float64Array;
}

/** Columns of one ticker on the same days; days and missing values as in `TickerPrices`. */
export interface TickerSeries {
  readonly ticker: string;
  readonly days: Int32Array;
  readonly columns: readonly string[];
  /** Shape (k, n), one column after the other: column c on day i is `values[c * n + i]`. */
  readonly values: Float64Array;
}

/** One ticker of a feature blob: its features, in the order in which they first appear for this ticker in the blob. */
export type TickerFeatures = TickerSeries;

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

export interface ByteSource {
  /** Its name in errors: a path, or a URL without its query string. */
  readonly name: string;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * Compares two texts by Unicode code point, the order of tickers in the output. JavaScript's own `<` and its default sort compare UTF-16
 * units, which puts U+1F600 before U+FF21.
 */
export function compareCodePoints(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; ) {
    const left = a.codePointAt(i)!;
    const right = b.codePointAt(i)!;
    if (left !== right) return left - right;
    i += left > 0xffff ? 2 : 1;
  }
  return a.length - b.length;
}

/** A next price more than this many calendar days away gives no label, and an older last price no forecast. */
export const MAX_GAP_DAYS = 10;

/** Fewer prices have no typical distance. */
const MIN_PRICES = 3;

/**
 * The median distance between price dates in calendar days, if it is too long for labels, as with monthly prices; undefined if at least
 * half of the dates have their next one within MAX_GAP_DAYS. @param days shape (m), price dates, ascending.
 */
export function sparseGapDays(days: Int32Array): number | undefined {
  if (days.length < MIN_PRICES) return undefined;
  const gaps = days.subarray(1).map((day, i) => day - days[i]!);
  const median = gaps.sort()[(gaps.length - 1) >> 1]!;
  return median > MAX_GAP_DAYS ? median : undefined;
}

export function sparsePrices(gapDays: number): string {
  return `has prices ${counted(gapDays, "calendar day")} apart (median), and a label needs the next one within ${MAX_GAP_DAYS}`;
}
