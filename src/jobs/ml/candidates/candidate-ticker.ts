import type { MlCandidates } from "../../../contract/config/choice/ml-candidates.ts";
import type { TestedFold } from "../../../evaluate/choice/candidate-losses.ts";
import { rootMeanSquare } from "../../../evaluate/statistics.ts";
import type { Fold } from "../../../panel/folds.ts";
import { alignedTo } from "../../shared/choice/aligned-forecasts.ts";
import type { ChoiceTicker } from "../../shared/choice/choice-result.ts";
import type { FittedTicker } from "../fitted-ticker.ts";
import type { CandidateForecasts } from "./candidate-forecasts.ts";

/** The fits of a ticker by the first candidate that could fit it, whose rows and folds are the ticker's. */
export interface BaseFits {
  readonly candidate: number;
  readonly fits: FittedTicker;
}

/** A ticker that at least one candidate could fit. */
export interface CandidateTicker extends ChoiceTicker {
  readonly base: BaseFits;
  readonly fitted: readonly (CandidateForecasts | undefined)[];
}

/** @param fitted one per candidate; undefined if it failed on the ticker. */
export function candidateTicker(
  base: BaseFits,
  fitted: readonly (CandidateForecasts | undefined)[],
  choice: MlCandidates,
): CandidateTicker {
  const { days } = fitted[base.candidate]!.tested;
  const { fits } = base;
  const { folds, heldOut } = fits;
  const warmUpFolds = Math.max(0, folds.length - publishedFolds(choice));
  return {
    base,
    fitted,
    warmUpFolds,
    warmUpRows: folds.slice(0, warmUpFolds).reduce((sum, fold) => sum + fold.testEnd - fold.testStart, 0),
    tested: {
      ticker: fits.ticker,
      days,
      labelDays: heldOut.labelDays,
      realised: heldOut.realised,
      predicted: fitted.map((own) => alignedTo(days, own?.tested)),
      unit: unitOf(fits),
      folds: testedFolds(folds, days),
    },
  };
}

/** The number of folds that the config asks for. */
function publishedFolds({ candidates }: MlCandidates): number {
  return candidates[0]!.settings.nSplits;
}

function testedFolds(folds: readonly Fold[], days: Int32Array): TestedFold[] {
  let at = 0;
  return folds.map(({ testStart, testEnd }) => {
    const from = at;
    at += testEnd - testStart;
    return { from, to: at, first: days[from]! };
  });
}

/** The mean squared label of the rows that the first fold trains on; 0 without a fold. */
function unitOf({ folds: [first], fitLabels }: FittedTicker): number {
  return first === undefined ? 0 : rootMeanSquare(fitLabels.subarray(first.trainStart, first.trainEnd)) ** 2;
}
