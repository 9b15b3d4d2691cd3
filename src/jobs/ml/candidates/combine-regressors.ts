import type { MlCandidates, MlSettings } from "../../../contract/config/ml-settings.ts";
import { choosePrequentially, type PrequentialChoice } from "../../../evaluate/choice/prequential.ts";
import { rootMeanSquare } from "../../../evaluate/statistics.ts";
import { fewerFolds } from "../../../panel/folds.ts";
import type { FirstOutcome, FitOutcome } from "../../plan.ts";
import type { ChoiceResult } from "../../shared/choice/choice-result.ts";
import {
  type CandidateFits,
  type CombinedTicker,
  combineCandidates,
  type MemberForecasts,
  type TestedFolds,
} from "../../shared/choice/combine-candidates.ts";
import type { Listed } from "../../shared/listed-warnings.ts";
import type { FittedTicker } from "../fitted-ticker.ts";

export function combineRegressors(
  fits: CandidateFits<MlSettings, FittedTicker>,
  first: FirstOutcome,
  choice: MlCandidates,
): FitOutcome<FittedTicker> & { readonly choice: ChoiceResult } {
  const { n_splits } = choice.candidates[0]!.settings;
  const foldsOf = ({ folds, heldOut, fitLabels }: FittedTicker): TestedFolds => {
    let at = 0;
    const [learned] = folds;
    return {
      folds: folds.map(({ testStart, testEnd }) => {
        const from = at;
        at += testEnd - testStart;
        return { from, to: at, first: heldOut.days[from]! };
      }),
      warmUpFolds: Math.max(0, folds.length - n_splits),
      unit: learned ? rootMeanSquare(fitLabels.subarray(learned.trainStart, learned.trainEnd)) ** 2 : 0,
    };
  };
  const combined = combineCandidates(
    fits,
    choice,
    foldsOf,
    (tested) => choosePrequentially(tested, fits.outcomes.length, choice),
    (ticker, forecasts, chosen) => combine(ticker, forecasts, chosen, choice),
  );
  return { ...first, ...combined };
}

function combine(
  { base: { candidate: base, fits: whole }, fitted, warmUpFolds }: CombinedTicker<FittedTicker>,
  { heldOut, score }: MemberForecasts,
  { members }: PrequentialChoice,
  choice: MlCandidates,
): FittedTicker {
  const { importances, lastImportances, ...first } = whole;
  const { ticker, joins, rows } = first;
  const folds = first.folds.slice(warmUpFolds);
  const isAlone = members.length === 1 && members[0] === base;
  const { n_splits: asked, cv_test_size: testSize, fit, shrinkage } = choice.candidates[0]!.settings;
  const facts = { ticker, fitRows: rows.fitRows, testSize, asked, got: folds.length, fit };
  // `late_ticker` reports those of late tickers.
  const fewer = joins === undefined ? fewerFolds({ ...facts, shrinks: shrinkage === "own" }) : undefined;
  // The listing of a candidate without a scaler, if the first has one.
  const isUnscaled = ({ code }: Listed) => code === "unscaled_features";
  const unscaled = first.listed.some(isUnscaled)
    ? []
    : fitted.flatMap((other) => other?.listed.filter(isUnscaled) ?? []).slice(0, 1);
  return {
    ...first,
    ...{ folds, heldOut, residuals: heldOut, score },
    warnings: [...first.warnings.filter(({ code }) => code !== "fewer_folds"), ...(fewer ? [fewer] : [])],
    listed: [...first.listed, ...unscaled],
    ...(isAlone && importances ? { importances } : {}),
    ...(isAlone && lastImportances ? { lastImportances } : {}),
  };
}
