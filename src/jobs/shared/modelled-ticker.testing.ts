import { outOfFoldMeans } from "../../evaluate/baselines.ts";
import type { Levels } from "../../evaluate/levels.ts";
import { deviation } from "../../evaluate/statistics.ts";
import type { Fold } from "../../panel/folds.ts";

/** The members of a ticker that follow from its fit rows and its folds. @param given `outOfFold` the forecasts of the test rows. */
export function foldedRows(given: {
  readonly ticker: string;
  readonly days: Int32Array;
  readonly labels: Float64Array;
  readonly labelDays: Int32Array;
  readonly folds: readonly Fold[];
  readonly outOfFold: Float64Array;
  readonly spans?: Levels;
}) {
  const { ticker, days, labels, labelDays, folds, outOfFold: predicted, spans = [] } = given;
  const tested = folds.flatMap(({ testStart, testEnd }) =>
    Array.from({ length: testEnd - testStart }, (_, i) => testStart + i),
  );
  const heldOut = {
    ticker,
    days: Int32Array.from(tested, (row) => days[row]!),
    labelDays: Int32Array.from(tested, (row) => labelDays[row]!),
    predicted,
    spans,
    realised: Float64Array.from(tested, (row) => labels[row]!),
    trainingMean: outOfFoldMeans(labels, folds),
    labelDeviation: deviation(labels),
  };
  return { folds, fitDays: days, fitLabels: labels, heldOut, residuals: heldOut, tested: [heldOut], unit: 0 };
}
