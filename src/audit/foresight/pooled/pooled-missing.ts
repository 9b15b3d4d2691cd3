import { mean } from "../../../evaluate/statistics.ts";
import { dateT } from "../../../evaluate/verdict/date-t.ts";
import type { TickerSurprises } from "../return-surprises.ts";
import { MIN_PAIRS } from "../significance.ts";
import type { FeatureColumn } from "../ticker-history.ts";
import type { DateSlots } from "./pooled-cells.ts";
import type { PooledTest } from "./pooled-test.ts";

/** By how much returns after missing values may differ from the others, in deviations: a missing value can be news itself. */
const RETURN_LIMIT = 0.15;

/** By how much more the size of the next return may differ than that of the last one, in deviations of their ranks. */
const SIZE_LIMIT = 0.3;

const MIN_MISSING = 5;

/** Gaps of one feature and the returns after them, as sums over the tickers of each date. */
export class PooledGaps {
  /** By slot of a date. */
  readonly #returns = new Map<number, number>();
  readonly #sizes = new Map<number, number>();
  #variance = 0;

  /**
   * Adds one ticker's price dates between the first value of the feature and the last one, if it is missing on some of them. A filter
   * on known facts, such as a calm month, relates to the size of the last return at least as much as to that of the next one, so the
   * difference of the two is tested.
   */
  add({ x }: FeatureColumn, { history, returns, sizes }: TickerSurprises, slots: DateSlots): void {
    const { priceRows, days } = history;
    const [first, last] = [x.findIndex(Number.isFinite), x.findLastIndex(Number.isFinite)];
    if (first < 0) return;
    const present = new Set<number>();
    for (let i = first; i <= last; i++) if (Number.isFinite(x[i]!)) present.add(priceRows[i]!);
    const rows = priceRows[last]! - priceRows[first]! + 1;
    const missing = rows - present.size;
    if (missing < MIN_MISSING || present.size < MIN_MISSING) return;
    const share = missing / rows;
    for (let row = priceRows[first]!; row <= priceRows[last]!; row++) {
      if (Number.isNaN(returns[row]!)) continue;
      const mark = (present.has(row) ? 0 : 1) - share;
      const slot = slots.slotOf(days[row]!);
      this.#variance += share * (1 - share);
      addTo(this.#returns, slot, mark * returns[row]!);
      const [next, before] = [sizes[row]!, sizes[row - 1]];
      const isBoth = before !== undefined && !Number.isNaN(next) && !Number.isNaN(before);
      if (isBoth) addTo(this.#sizes, slot, mark * (next - before));
    }
  }

  tests(slots: readonly number[]): PooledTest[] {
    const kinds = [
      [this.#returns, { side: "missing", form: "next_return", limit: RETURN_LIMIT }],
      [this.#sizes, { side: "missing", form: "next_size", limit: SIZE_LIMIT }],
    ] as const;
    return kinds.flatMap(([sums, what]) => {
      const values = Float64Array.from(slots.flatMap((slot) => sums.get(slot) ?? []));
      if (values.length < MIN_PAIRS) return [];
      // A sum of products divided by a sum of variances is a difference of means.
      const scaled = values.map((value) => (value * values.length) / this.#variance);
      const t = dateT(scaled, 1);
      return t === null ? [] : [{ ...what, c: mean(scaled), t, dates: values.length }];
    });
  }
}

function addTo(sums: Map<number, number>, slot: number, value: number): void {
  sums.set(slot, (sums.get(slot) ?? 0) + value);
}
