import { atOnce, type Pausable } from "../contract/machine/pausable.ts";
import { concatenate, type DatedForecasts, inTickerOrder } from "./forecast-rows.ts";
import { finiteOrNull, largestMagnitude } from "./statistics.ts";

/** What a model's forecasts are worth as sizes of returns. */
export interface Shrinkage {
  readonly n: number;
  /** Slope of labels on forecasts, through 0; null where every forecast is 0. */
  readonly b: number | null;
  /** Its standard error, robust to changing volatility (White 1980). */
  readonly se: number | null;
  /** The share of a forecast that the slope less its error supports, in [0, 1]. */
  readonly s: number;
}

/**
 * The slope b = sum(y p) / sum(p²) of labels on forecasts, its standard error se = sqrt(sum(p² (y - b p)²)) / sum(p²),
 * and s = max(0, min(1, b - se)): what is left of a forecast that is only believed as far as it proved itself.
 * @param realised shape (n), labels of rows that the model did not learn from; `predicted` likewise.
 */
export function shrinkage(realised: Float64Array, predicted: Float64Array): Shrinkage {
  return atOnce(shrinkageInSteps(realised, predicted));
}

/** As `shrinkage`, for the rows of all tickers. */
function* shrinkageInSteps(realised: Float64Array, predicted: Float64Array): Pausable<Shrinkage> {
  const n = realised.length;
  // Divided by the largest of their side, squares stay in the range of a float64.
  const [largestLabel, largest] = [largestMagnitude(realised), largestMagnitude(predicted)];
  const y = realised.map((value) => (largestLabel === 0 ? 0 : value / largestLabel));
  yield 0;
  const p = predicted.map((value) => value / largest);
  yield 0;
  let [yp, pp] = [0, 0];
  for (let i = 0; i < n; i++) {
    yp += y[i]! * p[i]!;
    pp += p[i]! * p[i]!;
  }
  if (!(pp > 0)) return { n, b: null, se: null, s: 0 };
  yield 0;
  const slope = yp / pp;
  let squares = 0;
  for (let i = 0; i < n; i++) squares += (p[i]! * (y[i]! - slope * p[i]!)) ** 2;
  const unit = largestLabel / largest;
  const b = slope * unit;
  const se = (Math.sqrt(squares) / pp) * unit;
  return { n, b: finiteOrNull(b), se: finiteOrNull(se), s: Math.max(0, Math.min(1, b - se || 0)) };
}

/** Tickers ascend by code point. */
export interface ShrinkageTable {
  readonly pooled: Shrinkage;
  readonly by_ticker: ReadonlyMap<string, Shrinkage>;
}

/**
 * The shrinkage of each ticker and of all rows together.
 * @param rows of which the models did not learn, all labelled; tickers in any order.
 */
export function* shrinkageTable(rows: readonly Omit<DatedForecasts, "days">[]): Pausable<ShrinkageTable> {
  const by_ticker = new Map<string, Shrinkage>();
  const ordered = inTickerOrder(rows);
  for (const { ticker, realised, predicted } of ordered) {
    by_ticker.set(ticker, shrinkage(realised, predicted));
    yield 0;
  }
  const realised = concatenate(ordered.map((row) => row.realised));
  yield 0;
  const predicted = concatenate(ordered.map((row) => row.predicted));
  yield 0;
  return { pooled: yield* shrinkageInSteps(realised, predicted), by_ticker };
}
