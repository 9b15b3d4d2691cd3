import { averageRanks } from "../../evaluate/rank.ts";
import { pick, type TickerHistory } from "./ticker-history.ts";

/** Last returns that explain a ticker's next return first: prices that bounce between bid and ask reverse. */
const LAST_RETURNS = 5;

/** Returns beyond this many root mean squares count as this many, so that no single date decides. */
const MAX_SURPRISE = 4;

/**
 * The part of each label that a ticker's last returns do not explain: the label minus a regression on the LAST_RETURNS last
 * returns, divided by the root mean square. Its mean stays: a mean of the sample, or of earlier rows, correlates with the price
 * level, so honest levels would show a correlation (Stambaugh 1999, "Predictive regressions").
 * @param y shape (m), the return to the next price date, NaN without one. @param labels shape (m): equal to y without delay.
 * @returns shape (m), mean square 1; NaN where `labels` is.
 */
export function returnSurprises(y: Float64Array, labels = y): Float64Array {
  const left = clipped(labels);
  const returns = clipped(y);
  const lagged = Array.from({ length: LAST_RETURNS }, (_, k) => shifted(returns, k + 1));
  const told: Float64Array[] = [];
  for (const lag of lagged) {
    for (const other of told) removePart(lag, other);
    removePart(left, lag);
    told.push(lag);
  }
  return overRootMeanSquare(left);
}

/** In units of the root mean square. */
function clipped(values: Float64Array): Float64Array {
  return overRootMeanSquare(values).map((value) => Math.max(-MAX_SURPRISE, Math.min(MAX_SURPRISE, value)));
}

/** One ticker's side of pooled tests. */
export class TickerSurprises {
  /** Shape (r): the price date of each feature row. */
  readonly days: Int32Array;
  /** Shape (r): of the label. */
  readonly rows: Float64Array;
  readonly history: TickerHistory;
  /** Shape (m): of the label of each price date. */
  readonly returns: Float64Array;
  /** Shape (m): the rank of the size of the label among all, uniform with variance 1. */
  readonly sizes: Float64Array;
  /** Shape (m): the same of the return to the next price date. */
  readonly returnSizes: Float64Array;

  constructor(history: TickerHistory) {
    this.history = history;
    this.returns = returnSurprises(history.y, history.labels);
    this.sizes = uniformRanks(history.labels.map(Math.abs));
    this.returnSizes = uniformRanks(history.y.map(Math.abs));
    this.rows = pick(this.returns, history.priceRows);
    this.days = history.priceRows.map((row) => history.days[row]!);
  }
}

function uniformRanks(values: Float64Array): Float64Array {
  const ranks = averageRanks(values.filter(Number.isFinite));
  let next = 0;
  const uniform = (rank: number) => Math.sqrt(12) * ((rank - 0.5) / ranks.length - 0.5);
  return values.map((value) => (Number.isFinite(value) ? uniform(ranks[next++]!) : Number.NaN));
}

/** A missing value counts as 0. */
function shifted(values: Float64Array, by: number): Float64Array {
  return values.map((_, i) => {
    const value = values[i - by] ?? 0;
    return Number.isNaN(value) ? 0 : value;
  });
}

/** Removes from a side its projection on another, over the rows that the side has. */
function removePart(side: Float64Array, other: Float64Array): void {
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

function overRootMeanSquare(values: Float64Array): Float64Array {
  let [squares, n] = [0, 0];
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    squares += value * value;
    n++;
  }
  const size = Math.sqrt(squares / n);
  return values.map((value) => value / size);
}
