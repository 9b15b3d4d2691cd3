import type { Day } from "../contract/market/dates.ts";
import { MAX_GAP_DAYS } from "../contract/market/ticker-series.ts";

/** Labels span at most MAX_GAP_DAYS calendar days, so both dates of a row fit into one number. */
const SPANS = MAX_GAP_DAYS + 1;

/**
 * The order of rows of several tickers by two dates each, the first before the second; rows with equal dates keep their order. It sorts numbers
 * (day * SPANS + span) * n + row, which are exact for up to 200 million rows in any four-digit year.
 * @param first shape (n); `second` likewise, 0 to MAX_GAP_DAYS days after `first`. A `second` one day before `first` puts a row before all others of
 *   `first`; then no row may have a `second` MAX_GAP_DAYS after its `first`.
 * @returns shape (n): numbers of rows.
 */
export function orderByDates(first: ArrayLike<Day>, second: ArrayLike<Day>): Float64Array {
  const n = first.length;
  // A loop, because `from` first creates a list of as many objects.
  const keys = new Float64Array(n);
  for (let i = 0; i < n; i++) keys[i] = (first[i]! * SPANS + (second[i]! - first[i]!)) * n + i;
  keys.sort();
  for (let i = 0; i < n; i++) keys[i]! -= Math.floor(keys[i]! / n) * n;
  return keys;
}

/** The values at these positions, in that order. @param order shape (n). */
export function valuesAt(values: Int32Array, order: Float64Array): Int32Array {
  const found = new Int32Array(order.length);
  for (let i = 0; i < order.length; i++) found[i] = values[order[i]!]!;
  return found;
}
