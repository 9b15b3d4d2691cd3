import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { deviation } from "../../evaluate/statistics.ts";
import { Change, cellChanges, type HistoryStarts, LATE_DAYS } from "./cell-changes.ts";
import { commonDays, valuesOn } from "./common-days.ts";
import { constantFactors, type FactorStep, linearMap } from "./rescaling.ts";

/** What explains the rewritten values of a column. */
export type Rewriting =
  | { readonly kind: "rescaled"; readonly steps: readonly FactorStep[] }
  | { readonly kind: "standardised"; readonly factor: number; readonly offset: number }
  | { readonly kind: "rewritten" };

/** A column with changed values, on the days that both histories have. */
export interface ColumnChange {
  readonly column: string;
  /** Shape (m). */
  readonly days: Int32Array;
  /** Shape (m), NaN if missing. */
  readonly before: Float64Array;
  readonly after: Float64Array;
  /** Shape (m), a `Change` for each. */
  readonly changes: Uint8Array;
  /** Deviation of the numbers in `before`, ddof 0; NaN if there are none. */
  readonly deviation: number;
  /** Absent if no value was rewritten. */
  readonly rewriting?: Rewriting;
  /** Rows from the first changed one to the last of the previous history, inclusive. */
  readonly reach: number;
}

export interface TickerComparison {
  /** Columns that both have. */
  readonly columns: number;
  /** Compared values: columns times days that both have. */
  readonly values: number;
  readonly changed: readonly ColumnChange[];
  /** Columns that only one of them has. */
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** Compares two histories of one ticker on the days, and in the columns, that both have. */
export function compareTicker(previous: TickerSeries, current: TickerSeries): TickerComparison {
  const common = commonDays(previous.days, current.days);
  const days =
    previous.days.length === common.length ? previous.days : pick(previous.days, common.previousRows);
  const beginnings = { previous: previous.days[0] ?? 0, current: current.days[0] ?? 0 };
  const places = new Map(current.columns.map((name, place) => [name, place]));
  const changed: ColumnChange[] = [];
  const removed: string[] = [];
  for (const [place, column] of previous.columns.entries()) {
    const there = places.get(column);
    if (there === undefined) removed.push(column);
    else {
      const before = valuesOn(columnOf(previous, place), common.previousRows);
      const after = valuesOn(columnOf(current, there), common.currentRows);
      const change = compareColumn(before, after, beginnings);
      if (change === undefined) continue;
      const first = change.changes.findIndex((kind) => kind !== Change.same);
      const reach = previous.days.length - common.previousRows[first]!;
      changed.push({ column, days, before, after, ...change, reach });
    }
  }
  markLate(changed, previous);
  const known = new Set(previous.columns);
  const columns = previous.columns.length - removed.length;
  return {
    columns,
    values: columns * common.length,
    changed,
    removed,
    added: current.columns.filter((name) => !known.has(name)),
  };
}

/** Marks values filled after the last row of `previous` that has any number, near the history's end. */
function markLate(changed: readonly ColumnChange[], { days, values }: TickerSeries): void {
  if (!changed.some(({ changes }) => changes.includes(Change.filled))) return;
  const n = days.length;
  let valued = n - 1;
  const isEmpty = (row: number) => {
    for (let at = row; at < values.length; at += n) if (!Number.isNaN(values[at]!)) return false;
    return true;
  };
  while (valued >= 0 && isEmpty(valued)) valued--;
  const first = Math.max(valued < 0 ? Number.NEGATIVE_INFINITY : days[valued]!, days[n - 1]! - LATE_DAYS);
  for (const change of changed)
    for (let i = change.days.length - 1; i >= 0 && change.days[i]! > first; i--)
      if (change.changes[i] === Change.filled) change.changes[i] = Change.late;
}

/** Compares one column on the days that both have. @returns undefined if every value is the same. */
export function compareColumn(
  before: Float64Array,
  after: Float64Array,
  beginnings: HistoryStarts,
): Pick<ColumnChange, "changes" | "deviation" | "rewriting"> | undefined {
  let spread: number | undefined;
  const spreadOf = () => (spread ??= deviation(before.filter((value) => !Number.isNaN(value))));
  const changes = cellChanges(before, after, spreadOf, beginnings);
  if (changes === undefined) return undefined;
  const isRewritten = changes.includes(Change.rewritten);
  return {
    changes,
    deviation: spreadOf(),
    ...(isRewritten ? { rewriting: rewritingOf(before, after) } : {}),
  };
}

function rewritingOf(before: Float64Array, after: Float64Array): Rewriting {
  const steps = constantFactors(before, after);
  if (steps !== undefined) return { kind: "rescaled", steps };
  const line = areMostChanged(before, after) ? linearMap(before, after) : undefined;
  return line === undefined ? { kind: "rewritten" } : { kind: "standardised", ...line };
}

/** Standardising again moves nearly all values. A value that moves by less than a line's reading error lies on every line. */
function areMostChanged(before: Float64Array, after: Float64Array): boolean {
  let [numbers, changed] = [0, 0];
  for (let i = 0; i < before.length; i++) {
    if (Number.isNaN(before[i]!) || Number.isNaN(after[i]!)) continue;
    numbers++;
    if (before[i] !== after[i]) changed++;
  }
  return 2 * changed > numbers;
}

function columnOf({ values, days }: TickerSeries, place: number): Float64Array {
  return values.subarray(place * days.length, (place + 1) * days.length);
}

function pick(days: Int32Array, rows: Int32Array): Int32Array {
  return rows.map((row) => days[row]!);
}
