import type { Pausable } from "../contract/machine/pausable.ts";
import type { Day } from "../contract/market/dates.ts";
import type { DatedForecasts } from "./forecast-rows.ts";

/** The rows of all tickers, date after date; those of a date in the order of the tickers given. */
export interface RowsByDate {
  /** The date number 0; has no meaning without rows. */
  readonly first: Day;
  /** Rows of the date number d lie in [starts[d], starts[d + 1]). */
  readonly starts: Int32Array;
  readonly predicted: Float64Array;
  readonly realised: Float64Array;
}

/** Sorts by counting. */
export function* sortedByDate(rows: readonly DatedForecasts[]): Pausable<RowsByDate> {
  const first = rows.reduce((day, ticker) => Math.min(day, ticker.days[0] ?? day), Number.POSITIVE_INFINITY);
  const last = rows.reduce((day, ticker) => Math.max(day, ticker.days.at(-1) ?? day), first);
  const none = new Float64Array(0);
  if (first === Number.POSITIVE_INFINITY)
    return { first: 0, starts: new Int32Array(1), predicted: none, realised: none };
  const starts = new Int32Array(last - first + 2);
  for (const ticker of rows) {
    for (const day of ticker.days) starts[day - first + 1]!++;
    yield 0;
  }
  for (let d = 1; d < starts.length; d++) starts[d]! += starts[d - 1]!;
  const next = starts.slice();
  const predicted = new Float64Array(starts.at(-1)!);
  const realised = new Float64Array(starts.at(-1)!);
  for (const ticker of rows) {
    for (let i = 0; i < ticker.days.length; i++) {
      const to = next[ticker.days[i]! - first]!++;
      predicted[to] = ticker.predicted[i]!;
      realised[to] = ticker.realised[i]!;
    }
    yield 0;
  }
  return { first, starts, predicted, realised };
}

/** The rows of each date that has any, dates ascending. */
export function* eachDate({
  first,
  starts,
  predicted,
  realised,
}: RowsByDate): Generator<Pick<RowsByDate, "predicted" | "realised"> & { readonly day: Day }> {
  for (let d = 0; d + 1 < starts.length; d++) {
    const from = starts[d]!;
    const to = starts[d + 1]!;
    if (from === to) continue;
    yield { day: first + d, predicted: predicted.subarray(from, to), realised: realised.subarray(from, to) };
  }
}
