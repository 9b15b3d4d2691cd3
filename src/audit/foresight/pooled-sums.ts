/** What the pooled tests need of each feature, collected ticker by ticker: sums by date, no values. */
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import { averageRanks } from "../../evaluate/rank.ts";
import type { Feature } from "./feature-history.ts";
import type { Surprises } from "./last-returns.ts";

/** The maximum of features times dates whose sums are kept, in 96 MB; further features are not pooled. */
const MAX_CELLS = 2_000_000;

export class PooledSums {
  /** Dates in order of appearance, shared by all features. */
  readonly #slots = new Map<number, number>();
  readonly features = new Map<string, PooledFeature>();
  readonly #skipped = new Set<string>();

  /** The number of features that did not fit. */
  get skipped(): number {
    return this.#skipped.size;
  }

  add(feature: Feature, surprises: Surprises): void {
    let pooled = this.features.get(feature.name);
    if (pooled === undefined) {
      if ((this.features.size + 1) * this.#slots.size > MAX_CELLS) {
        this.#skipped.add(feature.name);
        return;
      }
      pooled = {
        value: new DateSums(),
        change: new DateSums(),
        gaps: new GapSums(),
        pace: new FeaturePace(),
      };
      this.features.set(feature.name, pooled);
    }
    const slotOf = this.#slotOf.bind(this);
    const value = expandingRanks(feature.x);
    pooled.value.addRows(lessEarlierMean(value), surprises, slotOf);
    pooled.change.addRows(lessEarlierMean(expandingRanks(feature.dx)), surprises, slotOf);
    pooled.pace.add(feature.x, value);
    pooled.gaps.add(feature, surprises, slotOf);
  }

  inTime(): number[] {
    return [...this.#slots].sort(([a], [b]) => a - b).map(([, slot]) => slot);
  }

  #slotOf(day: number): number {
    const slot = this.#slots.get(day) ?? this.#slots.size;
    this.#slots.set(day, slot);
    return slot;
  }
}

type SlotOf = (day: number) => number;

export interface PooledFeature {
  readonly value: DateSums;
  readonly change: DateSums;
  readonly gaps: GapSums;
  readonly pace: FeaturePace;
}

/** A rank among fewer values says little. */
export const MIN_EARLIER = 20;

/**
 * The rank of each value among those of its own and earlier rows, ties averaged, scaled so that values in random order have mean 0
 * and variance 1. It uses nothing after its row: a rank in the whole sample correlates with later returns even for an honest price
 * level (Stambaugh 1999, "Predictive regressions").
 * @param x shape (r), NaN if missing.
 * @returns shape (r), NaN if x is missing or has fewer than MIN_EARLIER earlier values.
 */
export function expandingRanks(x: Float64Array): Float64Array {
  const places = averageRanks(x.filter(Number.isFinite)).map(Math.ceil);
  /** A Fenwick tree (1994) over the places: counts the values at lower ones. */
  const counts = new Int32Array(places.length + 1);
  const equal = new Int32Array(places.length + 1);
  let seen = 0;
  return x.map((value) => {
    if (!Number.isFinite(value)) return Number.NaN;
    const place = places[seen++]!;
    let below = 0;
    for (let i = place - 1; i > 0; i -= i & -i) below += counts[i]!;
    for (let i = place; i < counts.length; i += i & -i) counts[i]!++;
    // `below` values are smaller, `ties` are equal, including this one.
    const ties = ++equal[place]!;
    return seen > MIN_EARLIER ? Math.sqrt(12) * ((below + ties / 2) / seen - 0.5) : Number.NaN;
  });
}

/** Each value minus the mean of the earlier ones, so that a risen level does not correlate with a drift; 0 for the first one. */
function lessEarlierMean(values: Float64Array): Float64Array {
  let [sum, n] = [0, 0];
  return values.map((value) => {
    if (Number.isNaN(value)) return value;
    const left = n === 0 ? 0 : value - sum / n;
    sum += value;
    n++;
    return left;
  });
}

/** n, and sums of u, v, u u, v v and u v: 4 bytes each. */
const SUMS = 6;

/** A variance across tickers this small is rounding of its sums. */
const CONSTANT = 1e-4;

/** Values u of one feature and the returns v after them, mean square about 1 each, as sums over the tickers of each date. */
class DateSums {
  #sums = new Float32Array(0);

  /** @param u shape (r), NaN if missing. */
  addRows(u: Float64Array, { history: { days, priceRows }, returns }: Surprises, slotOf: SlotOf): void {
    for (let i = 0; i < u.length; i++) {
      const row = priceRows[i]!;
      const [x, y] = [u[i]!, returns[row]!];
      if (Number.isNaN(x) || Number.isNaN(y)) continue;
      const slot = slotOf(days[row]!);
      if (slot * SUMS >= this.#sums.length) {
        const grown = new Float32Array(Math.max(slot + 1, (2 * this.#sums.length) / SUMS, 256) * SUMS);
        grown.set(this.#sums);
        this.#sums = grown;
      }
      const [sums, at] = [this.#sums, slot * SUMS];
      sums[at]! += 1;
      sums[at + 1]! += x;
      sums[at + 2]! += y;
      sums[at + 3]! += x * x;
      sums[at + 4]! += y * y;
      sums[at + 5]! += x * y;
    }
  }

  /** The mean product of each date, divided by the root mean squares of all rows: their mean is the pooled correlation over time. */
  overTime(slots: readonly number[]): Float64Array {
    const values: number[] = [];
    let [rows, squaresU, squaresV] = [0, 0, 0];
    for (const [n, , , uu, vv, uv] of this.#dates(slots)) {
      values.push(uv / n);
      rows += n;
      squaresU += uu;
      squaresV += vv;
    }
    const size = Math.sqrt((squaresU / rows) * (squaresV / rows));
    return size > 0 ? Float64Array.from(values, (value) => value / size) : new Float64Array(0);
  }

  /** The correlation across the tickers, and their number, of each date that has at least MIN_ORDER_TICKERS of them. */
  acrossTickers(slots: readonly number[]): DateOrders {
    const [values, tickers]: [number[], number[]] = [[], []];
    for (const [n, u, v, uu, vv, uv] of this.#dates(slots)) {
      if (n < MIN_ORDER_TICKERS) continue;
      const spread = [uu - (u * u) / n, vv - (v * v) / n] as const;
      if (Math.min(...spread) <= CONSTANT * n) continue;
      const c = (uv - (u * v) / n) / Math.sqrt(spread[0] * spread[1]);
      values.push(Math.max(-1, Math.min(1, c)));
      tickers.push(n);
    }
    return { values: Float64Array.from(values), tickers: Int32Array.from(tickers) };
  }

  *#dates(slots: readonly number[]) {
    for (const slot of slots) {
      const sums = this.#sums.subarray(slot * SUMS, (slot + 1) * SUMS);
      if (sums[0]! > 0) yield sums as Iterable<number> as [number, number, number, number, number, number];
    }
  }
}

/** Correlations across tickers, by date: shape (n) each, in time order. */
export interface DateOrders {
  readonly values: Float64Array;
  readonly tickers: Int32Array;
}

/**
 * The maximum |c| over time of an honest feature; our own choice, about twice the mean daily IC of 0.052 that the best model of
 * Qlib's benchmarks on the CSI 300 reaches with 360 features.
 */
export const FAST_LIMIT = 0.11;

/** The same for a slow feature; our own choice: with this much every day it would have an IC of about 0.2 over a month. */
export const SLOW_LIMIT = 0.06;

/** The maximum IC over the time for which a feature keeps its value; our own choice. */
const STEP_LIMIT = 0.2;

/** A feature is slow from this rank autocorrelation on, SLOW_ROWS rows apart. */
const SLOW = 0.5;
const SLOW_ROWS = 5;

/** A feature moves in steps, like a quarterly figure, if a value stays the same for this many rows on average. */
const STEP_ROWS = 5;

/** How fast a feature changes, over all tickers: a slow feature can tell less about each single date. */
export class FeaturePace {
  /** Sums of u u' SLOW_ROWS rows apart, and of u u. */
  #lagged = 0;
  #squares = 0;
  #rows = 0;
  #moves = 0;

  /** @param x values of one ticker, and @param u their ranks; shape (r) each, NaN if missing. */
  add(x: Float64Array, u: Float64Array): void {
    for (let i = SLOW_ROWS; i < u.length; i++) {
      const [now, before] = [u[i]!, u[i - SLOW_ROWS]!];
      if (Number.isNaN(now) || Number.isNaN(before)) continue;
      this.#lagged += now * before;
      this.#squares += now * now;
    }
    for (let i = 1; i < x.length; i++) {
      if (!Number.isFinite(x[i]!) || !Number.isFinite(x[i - 1]!)) continue;
      this.#rows++;
      if (x[i] !== x[i - 1]) this.#moves++;
    }
  }

  /** The maximum |c| of the value of an honest feature. */
  limit(): number {
    const rows = this.#rows / Math.max(1, this.#moves);
    const slow = this.#lagged > SLOW * this.#squares ? SLOW_LIMIT : FAST_LIMIT;
    return rows >= STEP_ROWS ? Math.min(slow, STEP_LIMIT / Math.sqrt(rows)) : slow;
  }
}

const MIN_MISSING = 5;

/** Gaps of one feature and the returns after them, as sums over the tickers of each date. */
class GapSums {
  /** By slot of a date. */
  readonly returns = new Map<number, number>();
  readonly sizes = new Map<number, number>();
  variance = 0;

  /**
   * Adds one ticker's price dates between the first value of the feature and the last one, if it is missing on some of them. A filter
   * on known facts, such as a calm month, relates to the size of the last return at least as much as to that of the next one, so the
   * difference of the two is tested.
   */
  add({ x }: Feature, { history, returns, sizes, returnSizes }: Surprises, slotOf: SlotOf): void {
    const present = history.priceRows.filter((_, i) => Number.isFinite(x[i]!));
    const [first, last] = [present[0] ?? 0, present.at(-1) ?? -1];
    const missing = last + 1 - first - present.length;
    if (missing < MIN_MISSING || present.length < MIN_MISSING) return;
    const share = missing / (last + 1 - first);
    const isPresent = new Set(present);
    const addTo = (sums: Map<number, number>, slot: number, value: number) =>
      sums.set(slot, (sums.get(slot) ?? 0) + value);
    for (let row = first; row <= last; row++) {
      if (Number.isNaN(returns[row]!)) continue;
      const mark = (isPresent.has(row) ? 0 : 1) - share;
      const slot = slotOf(history.days[row]!);
      this.variance += share * (1 - share);
      addTo(this.returns, slot, mark * returns[row]!);
      const difference = sizes[row]! - (returnSizes[row - 1] ?? Number.NaN);
      if (!Number.isNaN(difference)) addTo(this.sizes, slot, mark * difference);
    }
  }
}
