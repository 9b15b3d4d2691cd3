import type { Day } from "../contract/market/dates.ts";
import { LONGEST_GAP_DAYS } from "../contract/market/price-gaps.ts";

/** Labels span at most LONGEST_GAP_DAYS calendar days, so both dates of a row fit into one number. */
const SPANS = LONGEST_GAP_DAYS + 1;

/**
 * The order of rows of several tickers by two dates each, the first before the second; rows with equal dates keep their order. It sorts numbers
 * (day * SPANS + span) * n + row, which are exact for up to 200 million rows in any four-digit year.
 * @param first shape (n); `second` likewise, 0 to LONGEST_GAP_DAYS days after `first`.
 * @returns shape (n): numbers of rows.
 */
export function orderByDates(first: ArrayLike<Day>, second: ArrayLike<Day>): Float64Array {
  const n = first.length;
  const keys = Float64Array.from(first, (day, i) => (day * SPANS + (second[i]! - day)) * n + i);
  return keys.sort().map((key) => key - Math.floor(key / n) * n);
}
