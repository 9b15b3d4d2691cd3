import { MAX_LAG } from "./return-correlations.ts";
import { MIN_PAIRS } from "./significance.ts";
import type { FeatureColumn, TickerHistory } from "./ticker-history.ts";

/** The kinds of values that a feature may be a copy of. */
const QUANTITIES = {
  price: ({ prices }, row, lag) => prices[row + lag],
  return: ({ y }, row, lag) => y[row + lag - 1],
  simple_return: ({ prices }, row, lag) => prices[row + lag]! / prices[row + lag - 1]! - 1,
  return_over_days: ({ prices }, row, lag) => Math.log(prices[row + lag]! / prices[row]!),
  simple_return_over_days: ({ prices }, row, lag) => prices[row + lag]! / prices[row]! - 1,
} as const satisfies Record<string, (history: TickerHistory, row: number, lag: number) => number | undefined>;

export type Quantity = keyof typeof QUANTITIES;

/** A feature is `scale` times what it copies, plus `offset`. */
export interface LaterCopy {
  readonly of: Quantity;
  /** The number of price dates until the value is known, 1 + delay to MAX_LAG. */
  readonly lag: number;
  readonly scale: number;
  readonly offset: number;
  readonly n: number;
}

/** Relative to the spread of the feature. */
const TOLERANCE = 1e-9;

/**
 * Whether a feature equals a later price or return on each of its rows: up to TOLERANCE, possibly scaled and shifted. A feature that
 * also equals a price or return known on its date, or with a delay when the trade takes place, is not a copy of a later one: prices may rise
 * by the same amount each day.
 */
export function laterCopy(history: TickerHistory, column: FeatureColumn): LaterCopy | undefined {
  const anchors = anchorsOf(history, column.x);
  if (anchors === undefined) return undefined;
  for (let lag = 1 + history.delay; lag <= MAX_LAG; lag++) {
    for (const of of Object.keys(QUANTITIES) as Quantity[]) {
      const copy = copyOf(history, column.x, anchors, of, lag);
      if (copy !== undefined && !isKnown(history, column.x, anchors)) return copy;
    }
  }
  return undefined;
}

function isKnown(history: TickerHistory, x: Float64Array, anchors: Anchors): boolean {
  for (let lag = history.delay; lag >= -MAX_LAG; lag--) {
    for (const of of Object.keys(QUANTITIES) as Quantity[])
      if (copyOf(history, x, anchors, of, lag) !== undefined) return true;
  }
  return false;
}

/** The rows of the smallest and the largest value; the original has its extremes there, too. */
interface Anchors {
  readonly least: number;
  readonly most: number;
}

/** Among the rows with prices MAX_LAG + 1 dates before and MAX_LAG after. @returns undefined for a constant. */
function anchorsOf({ priceRows, days }: TickerHistory, x: Float64Array): Anchors | undefined {
  let least = -1;
  let most = -1;
  for (let i = 0; i < x.length; i++) {
    const row = priceRows[i]!;
    if (!Number.isFinite(x[i]!) || row <= MAX_LAG || row + MAX_LAG >= days.length) continue;
    if (least < 0 || x[i]! < x[least]!) least = i;
    if (most < 0 || x[i]! > x[most]!) most = i;
  }
  return least >= 0 && x[least]! < x[most]! ? { least, most } : undefined;
}

function copyOf(
  history: TickerHistory,
  x: Float64Array,
  { least, most }: Anchors,
  of: Quantity,
  lag: number,
): LaterCopy | undefined {
  const { priceRows } = history;
  const valueAt = (i: number) => QUANTITIES[of](history, priceRows[i]!, lag) ?? Number.NaN;
  const spread = x[most]! - x[least]!;
  const scale = spread / (valueAt(most) - valueAt(least));
  const offset = x[least]! - scale * valueAt(least);
  if (!Number.isFinite(scale) || !Number.isFinite(offset)) return undefined;
  let n = 0;
  for (let i = 0; i < x.length; i++) {
    const value = valueAt(i);
    if (!Number.isFinite(x[i]!) || !Number.isFinite(value)) continue;
    if (!(Math.abs(x[i]! - (scale * value + offset)) <= TOLERANCE * spread)) return undefined;
    n++;
  }
  return n >= MIN_PAIRS ? { of, lag, scale, offset, n } : undefined;
}
