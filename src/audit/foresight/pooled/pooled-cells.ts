import { MIN_ORDER_TICKERS } from "../../../contract/output/later-close.ts";

/** Dates in order of appearance, shared by all features. */
export class DateSlots {
  readonly #slots = new Map<number, number>();

  get size(): number {
    return this.#slots.size;
  }

  slotOf(day: number): number {
    let slot = this.#slots.get(day);
    if (slot === undefined) {
      slot = this.#slots.size;
      this.#slots.set(day, slot);
    }
    return slot;
  }

  /** Slots, the earliest date first. */
  inTime(): number[] {
    return [...this.#slots].sort(([a], [b]) => a - b).map(([, slot]) => slot);
  }
}

/** Correlations across tickers, by date. */
export interface DateOrders {
  /** Shape (n), in time order. */
  readonly values: Float64Array;
  /** Shape (n): number of tickers on the date. */
  readonly tickers: Int32Array;
}

/** n, and sums of u, v, u u, v v and u v: 4 bytes each. */
const SUMS = 6;

/** Values of one feature and the returns after them, as sums over the tickers of each date. */
export class PooledCells {
  #sums = new Float32Array(0);

  /** @param u of the feature and @param v of the next return, mean square about 1 each. */
  add(slot: number, u: number, v: number): void {
    const at = slot * SUMS;
    if (at >= this.#sums.length) this.#grow(slot);
    const sums = this.#sums;
    sums[at]!++;
    sums[at + 1]! += u;
    sums[at + 2]! += v;
    sums[at + 3]! += u * u;
    sums[at + 4]! += v * v;
    sums[at + 5]! += u * v;
  }

  /** The mean product of each date, divided by the root mean squares of all rows: their mean is the pooled correlation over time. */
  overTime(slots: readonly number[]): Float64Array {
    const values: number[] = [];
    let [n, uu, vv] = [0, 0, 0];
    for (const slot of slots) {
      const cell = this.#cell(slot);
      if (cell === undefined) continue;
      values.push(cell.uv / cell.n);
      n += cell.n;
      uu += cell.uu;
      vv += cell.vv;
    }
    const size = Math.sqrt((uu / n) * (vv / n));
    return size > 0 ? Float64Array.from(values, (value) => value / size) : new Float64Array(0);
  }

  /** The correlation across the tickers of each date that has at least MIN_ORDER_TICKERS of them. */
  acrossTickers(slots: readonly number[]): DateOrders {
    const [values, tickers]: [number[], number[]] = [[], []];
    for (const slot of slots) {
      const cell = this.#cell(slot);
      if (cell === undefined || cell.n < MIN_ORDER_TICKERS) continue;
      const { n, u, v, uu, vv, uv } = cell;
      const spread = [uu - (u * u) / n, vv - (v * v) / n] as const;
      if (Math.min(...spread) <= CONSTANT * n) continue;
      const c = (uv - (u * v) / n) / Math.sqrt(spread[0] * spread[1]);
      values.push(Math.max(-1, Math.min(1, c)));
      tickers.push(n);
    }
    return { values: Float64Array.from(values), tickers: Int32Array.from(tickers) };
  }

  #cell(slot: number) {
    const at = slot * SUMS;
    const [n, u, v, uu, vv, uv] = this.#sums.subarray(at, at + SUMS);
    return n === undefined || n === 0 ? undefined : { n, u: u!, v: v!, uu: uu!, vv: vv!, uv: uv! };
  }

  #grow(slot: number): void {
    const grown = new Float32Array(Math.max(slot + 1, (2 * this.#sums.length) / SUMS, 256) * SUMS);
    grown.set(this.#sums);
    this.#sums = grown;
  }
}

/** A variance across tickers this small is rounding of its sums. */
const CONSTANT = 1e-4;
