import { type Day, formatDay } from "../../contract/market/dates.ts";
import { invalid, type Position } from "../blob-errors.ts";

/** The dates of one ticker, or of all, in ascending order, and the permutation that sorts their values. */
export class Calendar {
  /** Strictly ascending. */
  readonly days: Int32Array;
  /** Sorted row i is row `order[i]` of the blob; absent if the blob's dates ascend. */
  readonly #order: Uint32Array | undefined;

  constructor(days: ArrayLike<Day>, positionOf: (row: number) => Position) {
    this.days = Int32Array.from(days);
    this.#order = ascends(this.days) ? undefined : sortedOrder(this.days);
    if (this.#order === undefined) return;
    this.days = Int32Array.from(this.#order, (row) => days[row]!);
    const twice = this.days.findIndex((day, i) => i > 0 && day === this.days[i - 1]);
    if (twice < 0) return;
    const row = Math.max(this.#order[twice - 1]!, this.#order[twice]!);
    throw invalid(positionOf(row), `has the date ${formatDay(this.days[twice]!)} twice`);
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

function ascends(days: Int32Array): boolean {
  for (let i = 1; i < days.length; i++) if (days[i]! <= days[i - 1]!) return false;
  return true;
}

function sortedOrder(days: Int32Array): Uint32Array {
  return Uint32Array.from(days, (_, i) => i).sort((a, b) => days[a]! - days[b]! || a - b);
}
