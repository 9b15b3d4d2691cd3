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
  const n = realised.length;
  // Divided by the largest of their side, squares stay in the range of a float64.
  const [largestLabel, largest] = [largestMagnitude(realised), largestMagnitude(predicted)];
  const y = realised.map((value) => (largestLabel === 0 ? 0 : value / largestLabel));
  const p = predicted.map((value) => value / largest);
  let [yp, pp] = [0, 0];
  for (let i = 0; i < n; i++) {
    yp += y[i]! * p[i]!;
    pp += p[i]! * p[i]!;
  }
  if (!(pp > 0)) return { n, b: null, se: null, s: 0 };
  const slope = yp / pp;
  let squares = 0;
  for (let i = 0; i < n; i++) squares += (p[i]! * (y[i]! - slope * p[i]!)) ** 2;
  const unit = largestLabel / largest;
  const b = slope * unit;
  const se = (Math.sqrt(squares) / pp) * unit;
  return { n, b: finiteOrNull(b), se: finiteOrNull(se), s: Math.max(0, Math.min(1, b - se || 0)) };
}
