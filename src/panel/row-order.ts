import type { Day } from "../contract/market/dates.ts";
import { LONGEST_GAP_DAYS } from "../contract/market/price-gaps.ts";

/** Labels span at most LONGEST_GAP_DAYS calendar days, so both dates of a row fit into one number. */
const SPANS = LONGEST_GAP_DAYS + 1;

/** More rows than a job can hold; a key stays below 2^53. */
const MAX_ROWS = 2 ** 31;

/**
 * The order of rows of several tickers by two dates each, the first before the second; equal ones keep their order.
 * @param first shape (n); `second` likewise, at most LONGEST_GAP_DAYS after `first`.
 * @returns shape (n): numbers of rows.
 */
export function orderByDates(first: ArrayLike<Day>, second: ArrayLike<Day>): Float64Array {
  const keys = Float64Array.from(first, (day, i) => (day * SPANS + (second[i]! - day)) * MAX_ROWS + i);
  return keys.sort().map((key) => key - Math.floor(key / MAX_ROWS) * MAX_ROWS);
}
