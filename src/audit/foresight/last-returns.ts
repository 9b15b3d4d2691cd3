import { averageRanks } from "../../evaluate/rank.ts";
import { MIN_PAIRS, type RankCorrelation } from "./significance.ts";
import type { TickerHistory } from "./ticker-history.ts";

/** |c| of a feature or its change with the next return; daily information coefficients of funds are below 0.1. */
export const RETURN_LIMIT = 0.2;

/** The return into the row's own price date, and the two before; with more of them, noise takes over. */
export const LAST_RETURNS = 3;

/** A correlation with the next return, and its partial correlation given the ticker's last returns. */
export interface ReturnCorrelation extends RankCorrelation {
  /** The partial correlation; undefined if |c| is within RETURN_LIMIT, or for fewer than MIN_PAIRS rows. */
  readonly partial?: number;
}

/**
 * Adds the partial correlation to a correlation of x with the next return that exceeds RETURN_LIMIT.
 * @param x shape (r), NaN if missing.
 */
export function besideLastReturns(
  found: RankCorrelation | undefined,
  x: Float64Array,
  history: TickerHistory,
): ReturnCorrelation | undefined {
  if (found === undefined || Math.abs(found.c) <= RETURN_LIMIT) return found;
  const partial = partialCorrelation(x, history);
  return partial === undefined ? found : { ...found, partial };
}

/** If less than this share of a side's variance is left, the last returns explain it. */
const NOTHING_LEFT = 1e-9;

/**
 * Spearman's partial correlation of x with the next return given the ticker's LAST_RETURNS last ones: the correlation of the
 * residuals of both ranks on their ranks. If a price bounces between bid and ask, its returns reverse, and anything that contains the
 * last price correlates with the next return; given the last returns it does not.
 * @returns 0 if the last returns explain x, or the next return, completely; undefined for fewer than MIN_PAIRS complete rows.
 */
function partialCorrelation(x: Float64Array, { y, priceRows }: TickerHistory): number | undefined {
  const rows = rowsWithReturns(x, y, priceRows);
  if (rows.length < MIN_PAIRS) return undefined;
  const sideOf = (valueAt: (row: number) => number) => centredRanks(Float64Array.from(rows, valueAt));
  const returnsAgo = (ago: number) => sideOf((row) => y[priceRows[row]! - ago]!);
  const told: Float64Array[] = [];
  for (let ago = 1; ago <= LAST_RETURNS; ago++) {
    const side = returnsAgo(ago);
    if (removeAll(side, told) > NOTHING_LEFT) told.push(side);
  }
  const [a, b] = [sideOf((row) => x[row]!), returnsAgo(0)];
  const left = Math.min(removeAll(a, told), removeAll(b, told));
  return left > NOTHING_LEFT ? product(a, b) / Math.sqrt(product(a, a) * product(b, b)) : 0;
}

/** Rows with a value, the next return and LAST_RETURNS last ones. */
function rowsWithReturns(x: Float64Array, y: Float64Array, priceRows: Int32Array): number[] {
  const rows: number[] = [];
  for (const [row, at] of priceRows.entries()) {
    if (at < LAST_RETURNS || !Number.isFinite(x[row]!)) continue;
    if (y.subarray(at - LAST_RETURNS, at + 1).every(Number.isFinite)) rows.push(row);
  }
  return rows;
}

function centredRanks(values: Float64Array): Float64Array {
  const middle = (values.length + 1) / 2;
  return averageRanks(values).map((rank) => rank - middle);
}

/** Removes from a side its projections on other, orthogonal sides. @returns the remaining share of its variance. */
function removeAll(side: Float64Array, others: readonly Float64Array[]): number {
  const before = product(side, side);
  for (const other of others) {
    const share = product(side, other) / product(other, other);
    for (let i = 0; i < side.length; i++) side[i]! -= share * other[i]!;
  }
  return before > 0 ? product(side, side) / before : 0;
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
