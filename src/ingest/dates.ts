import { type Day, formatDay } from "../contract/market/dates.ts";
import type { RequestedWindow } from "../contract/market/ticker-series.ts";
import { dayOf } from "./date-text.ts";
import { invalid, type Position, quote } from "./faults.ts";

/** The dates of one ticker, or of all, in ascending order, and the permutation that sorts their values. */
export class Calendar {
  /** Strictly ascending. */
  readonly days: Int32Array;
  /** Sorted row i is row `order[i]` of the blob; absent if the blob's dates ascend. */
  readonly #order: Uint32Array | undefined;

  /** @param days one per row, in the blob's order. @throws MucastError invalid_data if a date occurs twice. */
  constructor(days: Int32Array, position: Position) {
    this.days = days;
    if (days.every((day, i) => i === 0 || day > days[i - 1]!)) return;
    this.#order = Uint32Array.from(days, (_, i) => i).sort((a, b) => days[a]! - days[b]!);
    this.days = Int32Array.from(this.#order, (row) => days[row]!);
    const twice = this.days.findIndex((day, i) => i > 0 && day === this.days[i - 1]);
    if (twice > 0) throw invalid(position, `has the date ${formatDay(this.days[twice]!)} twice`);
  }

  /** The calendar of an array of dates. @param at the position of one of them, or without index of all. */
  static of(dates: readonly unknown[], at: (...index: number[]) => Position): Calendar {
    const days = new Int32Array(dates.length);
    for (const [i, date] of dates.entries())
      days[i] = i > 0 && date === dates[i - 1] ? days[i - 1]! : dayOf(date, at(i));
    return new Calendar(days, at());
  }

  /** Permutes the k columns of length n in `values` into the order of `days`, in place. */
  arrange(values: Float64Array): void {
    const order = this.#order;
    if (order === undefined) return;
    const n = order.length;
    const column = new Float64Array(n);
    for (let at = 0; at < values.length; at += n) {
      for (let i = 0; i < n; i++) column[i] = values[at + order[i]!]!;
      values.set(column, at);
    }
  }
}

type Bound = keyof RequestedWindow;

/** The bound that a key defines, if any. `Learning_end` is accepted in any case. */
export function boundOf(name: string): Bound | undefined {
  if (/^(start|start_date|sample_start)$/.test(name)) return "start";
  if (/^(end|end_date|sample_end)$/.test(name)) return "end";
  return name.toLowerCase() === "learning_end" ? "learningEnd" : undefined;
}

/** Collects the bounds of the window from all names that can define one. */
export class WindowBounds {
  readonly #source: string;
  readonly #days = new Map<Bound, { readonly day: Day; readonly name: string }>();

  constructor(source: string) {
    this.#source = source;
  }

  window(): RequestedWindow {
    return Object.fromEntries([...this.#days].map(([bound, { day }]) => [bound, day]));
  }

  /**
   * Null defines no bound, and neither does a name that is none.
   * @throws MucastError invalid_data if the value is not a date, or differs from the bound under another name.
   */
  add(name: string, value: unknown): void {
    const bound = boundOf(name);
    if (bound === undefined || value === null) return;
    const position = { source: this.#source, path: name };
    const day = dayOf(value, position);
    const other = this.#days.get(bound);
    if (other !== undefined && other.day !== day)
      throw invalid(position, `is ${formatDay(day)}, but ${quote(other.name)} is ${formatDay(other.day)}`);
    this.#days.set(bound, { day, name });
  }
}
