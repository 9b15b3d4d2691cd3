import type { Intervals } from "../contract/config/intervals.ts";
import type { Warning } from "../contract/errors/warnings.ts";
import {
  type Bounds,
  conformalQuantile,
  conformityScores,
  intervalsAround,
  intervalUnsupported,
} from "./conformal.ts";

/** Forecasts that the final model did not learn from, beside what happened: shape (m) each. */
export interface Residuals {
  readonly realised: Float64Array;
  readonly predicted: Float64Array;
}

/** What of the settings decides about intervals; undefined for none. */
export type IntervalChoice = Pick<Intervals, "alpha" | "bound"> | undefined;

/**
 * Intervals around one ticker's forecasts, from its own residuals.
 * @param predicted shape (n): forecasts of the score rows.
 * @returns ends of shape (n), all NaN where none were asked for or none is supported; a warning in the latter case.
 */
export function scoreBounds(
  ticker: string,
  predicted: Float64Array,
  { realised, predicted: before }: Residuals,
  choice: IntervalChoice,
): { readonly bounds: Bounds; readonly warnings: readonly Warning[] } {
  if (choice === undefined) return { bounds: intervalsAround(predicted, undefined, "both"), warnings: [] };
  const scores = conformityScores(realised, before, choice.bound);
  const unsupported = intervalUnsupported(ticker, scores.length, choice.alpha);
  return {
    bounds: intervalsAround(predicted, conformalQuantile(scores, choice.alpha), choice.bound),
    warnings: unsupported === undefined ? [] : [unsupported],
  };
}
