/**
 * What a ticker's last returns explain of its next one. If prices bounce between bid and ask, returns reverse, and anything that contains
 * the last price correlates with the next return.
 */
import { averageRanks } from "../../evaluate/rank.ts";
import type { TickerHistory } from "./feature-history.ts";
import { finiteRanks, MIN_PAIRS } from "./rank-correlation.ts";

/** The return into the row's own price date, and the two before; with more of them, noise takes over. */
export const LAST_RETURNS = 3;

/** If less than this share of a side's variance is left, the last returns explain it. */
const NOTHING_LEFT = 1e-9;

/**
 * Spearman's partial correlation of x with the label given the ticker's LAST_RETURNS last returns: the correlation of the residuals of
 * both ranks on their ranks.
 * @param x shape (r), NaN if missing.
 * @returns 0 if the last returns explain x, or the label, completely; undefined for fewer than MIN_PAIRS complete rows.
 */
export function partialCorrelation(
  x: Float64Array,
  { y, labels, priceRows }: TickerHistory,
): number | undefined {
  const lags = Array.from({ length: LAST_RETURNS }, (_, k) => k + 1);
  const returnAgo = (row: number, ago: number) => y[priceRows[row]! - ago] ?? Number.NaN;
  const isComplete = (row: number) =>
    [x[row]!, labels[priceRows[row]!]!, ...lags.map((ago) => returnAgo(row, ago))].every(Number.isFinite);
  const rows = [...priceRows.keys()].filter(isComplete);
  if (rows.length < MIN_PAIRS) return undefined;
  const centredRanks = (valueAt: (row: number) => number) =>
    averageRanks(Float64Array.from(rows, valueAt)).map((rank) => rank - (rows.length + 1) / 2);
  const kept: Float64Array[] = [];
  for (const ago of lags) {
    const side = centredRanks((row) => returnAgo(row, ago));
    if (removeAll(side, kept) > NOTHING_LEFT) kept.push(side);
  }
  const [a, b] = [centredRanks((row) => x[row]!), centredRanks((row) => labels[priceRows[row]!]!)];
  const left = Math.min(removeAll(a, kept), removeAll(b, kept));
  return left > NOTHING_LEFT ? product(a, b) / Math.sqrt(product(a, a) * product(b, b)) : 0;
}

/** @returns the share of the side's variance that remains. */
function removeAll(side: Float64Array, others: readonly Float64Array[]): number {
  const before = product(side, side);
  for (const other of others) removeProjection(side, other);
  return before > 0 ? product(side, side) / before : 0;
}

/** Removes from a side its projection on another, over the rows that the side has. */
function removeProjection(side: Float64Array, other: Float64Array): void {
  let [products, squares] = [0, 0];
  for (let i = 0; i < side.length; i++) {
    if (Number.isNaN(side[i]!)) continue;
    products += side[i]! * other[i]!;
    squares += other[i]! * other[i]!;
  }
  if (squares === 0) return;
  const share = products / squares;
  for (let i = 0; i < side.length; i++) side[i]! -= share * other[i]!;
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/** The last returns that explain a label in the pooled tests. */
const EXPLAINING_RETURNS = 5;

/** Returns beyond this many root mean squares count as this many, so that no single date decides. */
const MAX_SURPRISE = 4;

/** One ticker's side of the pooled tests. */
export type Surprises = ReturnType<typeof surprisesOf>;

export function surprisesOf(history: TickerHistory) {
  const { y, labels } = history;
  return {
    history,
    /** Shape (m): of the label of each price date. */
    returns: returnSurprises(y, labels),
    /** Shape (m): the rank of the size of the label among all, uniform with variance 1. */
    sizes: uniformRanks(labels.map(Math.abs)),
    /** Shape (m): the same of the return to the next price date. */
    returnSizes: uniformRanks(y.map(Math.abs)),
  };
}

/**
 * The part of each label that a ticker's last returns do not explain: the label minus a regression on them, divided by the root mean
 * square. Its mean stays: a mean of the sample, or of earlier rows, correlates with the price level, so honest levels would show a
 * correlation (Stambaugh 1999, "Predictive regressions").
 * @param y shape (m), the return to the next price date, NaN without one. @param labels shape (m): equal to y without delay.
 * @returns shape (m), mean square 1; NaN where `labels` is.
 */
export function returnSurprises(y: Float64Array, labels = y): Float64Array {
  const [left, returns] = [clipped(labels), clipped(y)];
  const kept: Float64Array[] = [];
  for (let ago = 1; ago <= EXPLAINING_RETURNS; ago++) {
    // A missing return counts as 0.
    const lagged = returns.map((_, i) => returns[i - ago] || 0);
    for (const other of kept) removeProjection(lagged, other);
    removeProjection(left, lagged);
    kept.push(lagged);
  }
  return overRootMeanSquare(left);
}

/** In units of the root mean square. */
function clipped(values: Float64Array): Float64Array {
  return overRootMeanSquare(values).map((value) => Math.max(-MAX_SURPRISE, Math.min(MAX_SURPRISE, value)));
}

function overRootMeanSquare(values: Float64Array): Float64Array {
  const present = values.filter((value) => !Number.isNaN(value));
  const size = Math.sqrt(product(present, present) / present.length);
  return values.map((value) => value / size);
}

function uniformRanks(values: Float64Array): Float64Array {
  const n = values.filter(Number.isFinite).length;
  return finiteRanks(values).map((rank) => Math.sqrt(12) * ((rank - 0.5) / n - 0.5));
}
