import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { deviation } from "../../evaluate/statistics.ts";
import { joinRows } from "../../panel/rows.ts";
import { constantFactors, isLinear } from "./rescaling.ts";

/**
 * How a value changed:
 * - `rounded`: within ROUNDING, so computed or printed in another way;
 * - `rewritten`: to another number; `rescaled` and `standardised` if one rule explains all of the column;
 * - `filled`: it was missing and is now a number; `late`, if the last rows of the history had no value in any column;
 * - `erased`: it was a number and is now missing;
 * - `warm_up`: missing on one side only at its start, because the histories start on different days.
 */
export type Change =
  | "rounded"
  | "rewritten"
  | "rescaled"
  | "standardised"
  | "filled"
  | "erased"
  | "warm_up"
  | "late";

/**
 * The share of the larger magnitude, or of the deviation, that does not count as a change: float32 (6e-8) or another order of
 * summation leaves it. Anything that helps a forecast is far larger.
 */
export const ROUNDING = 1e-7;

/** Calendar days at the end of the earlier blob in which a ticker may come late: markets close on different days. */
export const LATE_DAYS = 10;

/** A column with changed values, on the days that both histories have. */
export type ColumnChange = NonNullable<ReturnType<typeof compareColumn>> & {
  readonly column: string;
  /** Shape (m). */
  readonly days: Int32Array;
  /** Rows from the first changed one to the last of the previous history, inclusive. */
  readonly reach: number;
};

/** Compares two histories of one ticker on the days, and in the columns, that both have. */
export function compareTicker(previous: TickerSeries, current: TickerSeries) {
  const rows = joinRows(previous.days, current.days);
  const days = rows.price.map((row) => previous.days[row]!);
  const starts = { previous: previous.days[0] ?? 0, current: current.days[0] ?? 0 };
  const places = new Map(current.columns.map((name, place) => [name, place]));
  const changed: ColumnChange[] = [];
  const removed: string[] = [];
  for (const [place, column] of previous.columns.entries()) {
    const there = places.get(column);
    if (there === undefined) {
      removed.push(column);
      continue;
    }
    places.delete(column);
    const before = valuesOn(previous, place, rows.price);
    const change = compareColumn(before, valuesOn(current, there, rows.feature), starts);
    if (change === undefined) continue;
    changed.push({ column, days, ...change, reach: previous.days.length - rows.price[change.first]! });
  }
  markLate(changed, previous);
  const columns = previous.columns.length - removed.length;
  return { columns, values: columns * days.length, changed, removed, added: [...places.keys()] };
}

function valuesOn({ values, days }: TickerSeries, column: number, rows: Int32Array): Float64Array {
  const start = column * days.length;
  const [first, last] = [rows[0] ?? 0, rows.at(-1) ?? -1];
  // A view in place of a copy: usually, the rows are successive.
  if (last - first === rows.length - 1) return values.subarray(start + first, start + last + 1);
  return Float64Array.from(rows, (row) => values[start + row]!);
}

const isSame = (before: number, after: number) =>
  before === after || (Number.isNaN(before) && Number.isNaN(after));

/**
 * @param before, after shape (m), NaN if missing.
 * @param starts the first day of each history: the later one has the warm-up of its rolling windows on other days.
 * @returns undefined if every value is the same.
 */
function compareColumn(
  before: Float64Array,
  after: Float64Array,
  starts: Readonly<Record<"previous" | "current", number>>,
) {
  let first = 0;
  while (first < before.length && isSame(before[first]!, after[first]!)) first++;
  if (first === before.length) return undefined;
  const spread = deviation(before.filter((value) => !Number.isNaN(value)));
  const absolute = Number.isFinite(spread) ? ROUNDING * spread : 0;
  const [begins, began] = [after, before].map((side) => side.findIndex((value) => !Number.isNaN(value)));
  const changeAt = (i: number): Change | undefined => {
    const [a, b] = [before[i]!, after[i]!];
    if (isSame(a, b)) return undefined;
    // A side without any value does not warm up.
    if (Number.isNaN(a)) return starts.current < starts.previous && i < began! ? "warm_up" : "filled";
    if (Number.isNaN(b)) return starts.previous < starts.current && i < begins! ? "warm_up" : "erased";
    const slack = Math.max(absolute, ROUNDING * Math.max(Math.abs(a), Math.abs(b)));
    return Math.abs(b - a) <= slack ? "rounded" : "rewritten";
  };
  const found = Array.from(before, (_, i) => changeAt(i));
  const isRewritten = found.includes("rewritten");
  const steps = (isRewritten && constantFactors(before, after)) || [];
  let rewriting: "rewritten" | "rescaled" | "standardised" = "rewritten";
  if (steps.length > 0) rewriting = "rescaled";
  else if (isRewritten && isStandardised(before, after)) rewriting = "standardised";
  return {
    before,
    after,
    first,
    /** Shape (m); undefined where nothing changed. */
    changes: found.map((change) => (change === "rewritten" ? rewriting : change)),
    /** Of the numbers in `before`, ddof 0; NaN if there are none. */
    deviation: spread,
    /** Of a rescaled column. */
    steps,
  };
}

/** Standardising again moves nearly all values. A value that moves by less than a line's reading error lies on every line. */
function isStandardised(before: Float64Array, after: Float64Array): boolean {
  let [numbers, moved] = [0, 0];
  for (let i = 0; i < before.length; i++) {
    if (Number.isNaN(before[i]!) || Number.isNaN(after[i]!)) continue;
    numbers++;
    if (before[i] !== after[i]) moved++;
  }
  return 2 * moved > numbers && isLinear(before, after);
}

/** Marks values filled after the last row of `previous` that has any number, near the history's end. */
function markLate(changed: readonly ColumnChange[], { days, values }: TickerSeries): void {
  if (!changed.some(({ changes }) => changes.includes("filled"))) return;
  const n = days.length;
  const isEmpty = (row: number) => {
    for (let at = row; at < values.length; at += n) if (!Number.isNaN(values[at]!)) return false;
    return true;
  };
  let valued = n - 1;
  while (valued >= 0 && isEmpty(valued)) valued--;
  const first = Math.max(days[valued] ?? Number.NEGATIVE_INFINITY, days[n - 1]! - LATE_DAYS);
  for (const { days, changes } of changed)
    for (const [i, day] of days.entries()) if (day > first && changes[i] === "filled") changes[i] = "late";
}
