import type { Residuals } from "./intervals/interval-rows.ts";
import { shrinkage } from "./shrinkage.ts";
import { deviation } from "./statistics.ts";

/** A slope of labels on forecasts below this means that forecasts are at least twice as large as they should be. */
const MIN_SLOPE = 0.5;

/** In units of a ticker's label deviation: returns are mostly noise, so good forecasts move far less than labels. */
const MAX_TEST_RATIO = 0.5;
const MAX_OVERSIZED_RATIO = 1;
const MAX_RATIO = 2;

/** Fewer score rows say little about how far forecasts spread. */
const MIN_SCORE_ROWS = 20;

/** Forecasts on score rows may spread this much wider than the tested ones. */
const WIDENING = 3;

/** The published forecasts of one ticker. */
export interface SizedForecasts {
  /** Shape (n): labels of the fit rows. */
  readonly fitLabels: Float64Array;
  /** Rows that the model did not learn from, with their labels. */
  readonly heldOut: Residuals;
  /** Shape (m): forecasts of the score rows. */
  readonly score: Float64Array;
  /** Undefined if the ticker has none. */
  readonly mu: number | undefined;
}

/**
 * Whether forecasts are too large to be believed, in units of the deviation (ddof 0) of the fit labels: their deviation out of sample is
 * above 0.5 while their slope is below 0.5; or on 20 or more score rows it is above 0.5 and above 3 times that out of sample; or |mu| is
 * above 2, or above 1 while the slope is below 0.5. A missing slope counts as 0.
 */
export function isWild({ fitLabels, heldOut, score, mu = 0 }: SizedForecasts): boolean {
  const label = deviation(fitLabels);
  const isOversized = (shrinkage(heldOut.realised, heldOut.predicted).b ?? 0) < MIN_SLOPE;
  const tested = deviation(heldOut.predicted);
  if (tested > MAX_TEST_RATIO * label && isOversized) return true;
  const scored = deviation(score);
  if (score.length >= MIN_SCORE_ROWS && scored > MAX_TEST_RATIO * label && scored > WIDENING * tested)
    return true;
  return Math.abs(mu) > (isOversized ? MAX_OVERSIZED_RATIO : MAX_RATIO) * label;
}
