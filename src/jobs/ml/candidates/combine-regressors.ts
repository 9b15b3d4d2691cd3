import type { MlCandidates, MlSettings } from "../../../contract/config/ml-settings.ts";
import type { Warning } from "../../../contract/problems/warnings.ts";
import { choosePrequentially, type PrequentialChoice } from "../../../evaluate/choice/prequential.ts";
import { rootMeanSquare } from "../../../evaluate/statistics.ts";
import { fewerFolds } from "../../../panel/folds.ts";
import type { ChoiceResult } from "../../shared/choice/choice-result.ts";
import {
  type CandidateFits,
  type CombinedTicker,
  combineCandidates,
  type MemberForecasts,
  type TestedFolds,
} from "../../shared/choice/combine-candidates.ts";
import type { Listed } from "../../shared/listed-warnings.ts";
import type { BlockedOutcome } from "../fit-together.ts";
import type { FittedTicker } from "../fitted-ticker.ts";

/** @param first the outcome of the first candidate, whose facts are the job's. */
export function combineRegressors(
  fits: CandidateFits<MlSettings, FittedTicker>,
  first: Omit<BlockedOutcome, "fitted">,
  choice: MlCandidates,
): BlockedOutcome & { readonly choice: ChoiceResult } {
  const combined = combineCandidates(
    fits,
    choice,
    (ticker) => testedFolds(ticker, choice),
    (tested) => choosePrequentially(tested, fits.outcomes.length, choice),
    (ticker, forecasts, chosen) => combine(ticker, forecasts, chosen, choice),
  );
  return { ...first, ...combined };
}

function testedFolds({ folds, heldOut, fitLabels }: FittedTicker, choice: MlCandidates): TestedFolds {
  let at = 0;
  const [first] = folds;
  return {
    folds: folds.map(({ testStart, testEnd }) => {
      const from = at;
      at += testEnd - testStart;
      return { from, to: at, first: heldOut.days[from]! };
    }),
    warmUpFolds: Math.max(0, folds.length - choice.candidates[0]!.settings.nSplits),
    unit: first === undefined ? 0 : rootMeanSquare(fitLabels.subarray(first.trainStart, first.trainEnd)) ** 2,
  };
}

function combine(
  { base: { candidate: base, fits: whole }, fitted, warmUpFolds }: CombinedTicker<FittedTicker>,
  { heldOut, score }: MemberForecasts,
  { members }: PrequentialChoice,
  choice: MlCandidates,
): FittedTicker {
  const { importances, lastImportances, ...first } = whole;
  const folds = first.folds.slice(warmUpFolds);
  const isAlone = members.length === 1 && members[0] === base;
  return {
    ...first,
    ...{ folds, heldOut, residuals: heldOut, score },
    warnings: [
      ...first.warnings.filter(({ code }) => code !== "fewer_folds"),
      ...fewerPublished(first, folds.length, choice),
    ],
    listed: [...first.listed, ...unscaledIn(fitted, first.listed)],
    ...(isAlone && importances ? { importances } : {}),
    ...(isAlone && lastImportances ? { lastImportances } : {}),
  };
}

function fewerPublished({ ticker, joins, rows }: FittedTicker, got: number, choice: MlCandidates): Warning[] {
  // `late_ticker` reports these.
  if (joins !== undefined) return [];
  const { nSplits: asked, cvTestSize: testSize, fit, shrinkage } = choice.candidates[0]!.settings;
  const warning = fewerFolds({
    ...{ ticker, fitRows: rows.fitRows, testSize, asked, got, fit },
    shrinks: shrinkage === "own",
  });
  return warning === undefined ? [] : [warning];
}

/** The listing of a candidate without a scaler, if the first has one. */
function unscaledIn(fitted: CombinedTicker<FittedTicker>["fitted"], own: readonly Listed[]): Listed[] {
  const isUnscaled = ({ code }: Listed) => code === "unscaled_features";
  if (own.some(isUnscaled)) return [];
  return fitted.flatMap((other) => other?.listed.filter(isUnscaled) ?? []).slice(0, 1);
}
