import type { Intervals } from "../contract/config/intervals.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import {
  type Bounds,
  conformalQuantile,
  conformityScores,
  intervalsAround,
  intervalUnsupported,
} from "./conformal.ts";

/** Forecasts of rows that the model did not learn from, and the labels of those rows: shape (m) each. */
export interface Residuals {
  readonly realised: Float64Array;
  readonly predicted: Float64Array;
}

/** The settings of intervals that are on; undefined where a job makes none. */
export type IntervalChoice = Intervals | undefined;

/**
 * Intervals around one ticker's forecasts, from its own residuals.
 * @param predicted shape (n): forecasts of the score rows.
 * @returns ends of shape (n), all NaN where no intervals are asked for, or where the residuals support none; the latter
 *   with a warning.
 */
export function scoreBounds(
  ticker: string,
  predicted: Float64Array,
  residuals: Residuals,
  intervals: IntervalChoice,
): { readonly bounds: Bounds; readonly warnings: readonly Warning[] } {
  if (intervals === undefined) return { bounds: intervalsAround(predicted, undefined, "both"), warnings: [] };
  const { alpha, bound, ...unused } = intervals;
  unused satisfies Record<string, never>; // A new setting of intervals does not compile until it is used here.
  const scores = conformityScores(residuals.realised, residuals.predicted, bound);
  const unsupported = intervalUnsupported(ticker, scores.length, alpha);
  return {
    bounds: intervalsAround(predicted, conformalQuantile(scores, alpha), bound),
    warnings: unsupported === undefined ? [] : [unsupported],
  };
}
