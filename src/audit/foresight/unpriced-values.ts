import type { ResolvedWindow } from "../../panel/window.ts";
import { columnValues, type TickerHistory } from "./ticker-history.ts";

/** The values of one feature on dates of the window without a price of its ticker. */
export interface UnpricedValues {
  readonly values: number;
  /** Those that only the next value with a price explains: equal to it, or on the straight line to it. */
  readonly fromLater: number;
  /** Those that the value before explains. */
  readonly fromEarlier: number;
}

const TOLERANCE = 1e-9;

/** The rows of a feature blob that lie in the window and have no price, ascending. */
export function unpricedRows(
  { features, featureRows }: TickerHistory,
  { start, end }: Pick<ResolvedWindow, "start" | "end">,
): Int32Array {
  let r = 0;
  return Int32Array.from(features.days.keys()).filter((row) => {
    while (r < featureRows.length && featureRows[r]! < row) r++;
    const day = features.days[row]!;
    return day >= start && day <= end && featureRows[r] !== row;
  });
}

/** Examines the values of one column on the rows without a price. */
export function unpricedValues(history: TickerHistory, column: number, rows: Int32Array): UnpricedValues {
  const x = columnValues(history, column);
  const { featureRows } = history;
  let [values, fromLater, fromEarlier] = [0, 0, 0];
  let after = 0;
  for (const row of rows) {
    while (after < featureRows.length && featureRows[after]! < row) after++;
    if (!Number.isFinite(x[row]!)) continue;
    values++;
    const earlier = featureRows[after - 1];
    const later = featureRows[after];
    if (earlier !== undefined && x[row] === x[earlier]) fromEarlier++;
    else if (later !== undefined && isFilled(history, x, { earlier, row, later })) fromLater++;
  }
  return { values, fromLater, fromEarlier };
}

/**
 * The share of values on dates with a price, except those equal to the previous one, that equal the next value or are on the line to
 * it: nearly 0 for freely moving values; large for weekdays and months, for steps, and for ranks among few tickers, which look filled
 * without being filled.
 */
export function usualShare(history: TickerHistory, column: number): number {
  const x = columnValues(history, column);
  const { featureRows } = history;
  let [fromLater, all] = [0, 0];
  for (let i = 1; i < featureRows.length - 1; i++) {
    const [earlier, row, later] = [featureRows[i - 1]!, featureRows[i]!, featureRows[i + 1]!];
    if (!Number.isFinite(x[row]!) || x[row] === x[earlier]) continue;
    all++;
    if (isFilled(history, x, { earlier, row, later })) fromLater++;
  }
  return all === 0 ? 0 : fromLater / all;
}

interface Neighbours {
  readonly earlier: number | undefined;
  readonly row: number;
  readonly later: number;
}

/** Whether a value equals the later one, or is on the straight line between its neighbours, by rows or by days. */
function isFilled(
  { features: { days } }: TickerHistory,
  x: Float64Array,
  { earlier, row, later }: Neighbours,
): boolean {
  if (x[row] === x[later]) return true;
  if (earlier === undefined || !Number.isFinite(x[earlier]!) || !Number.isFinite(x[later]!)) return false;
  const rise = x[later]! - x[earlier]!;
  const shares = [
    (row - earlier) / (later - earlier),
    (days[row]! - days[earlier]!) / (days[later]! - days[earlier]!),
  ];
  return shares.some((share) => Math.abs(x[row]! - x[earlier]! - share * rise) <= TOLERANCE * Math.abs(rise));
}
