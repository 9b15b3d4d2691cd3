import type { MlCandidates } from "../../../contract/config/choice/ml-candidates.ts";
import { compareCodePoints } from "../../../contract/market/ticker-series.ts";
import type { Warning } from "../../../contract/problems/warnings.ts";
import { memberLevels, memberMeans, membersAt } from "../../../evaluate/choice/member-forecasts.ts";
import { choosePrequentially, type PrequentialChoice } from "../../../evaluate/choice/prequential.ts";
import { fewerFolds } from "../../../panel/folds.ts";
import { alignedTo } from "../../shared/choice/aligned-forecasts.ts";
import { type ChoiceResult, choiceResult } from "../../shared/choice/choice-result.ts";
import { type CandidateReport, choiceWarnings, commonFailures } from "../../shared/choice/choice-warnings.ts";
import { lostTickers } from "../../shared/choice/lost-tickers.ts";
import type { Listed } from "../../shared/listed-warnings.ts";
import type { BlockedOutcome } from "../fit-together.ts";
import type { FittedTicker } from "../fitted-ticker.ts";
import type { CandidateForecasts } from "./candidate-forecasts.ts";
import { type CandidateTicker, candidateTicker } from "./candidate-ticker.ts";
import type { CandidateFits, CandidateOutcome } from "./fit-candidates.ts";

/** The outcome of a job that chose among candidates. */
export type CombinedOutcome = BlockedOutcome & { readonly choice: ChoiceResult };

/**
 * Chooses among the candidates and combines their forecasts into one per row. Everything else about a ticker is that of the first candidate
 * that could fit it.
 */
export function combineCandidates({ outcomes, bases }: CandidateFits, choice: MlCandidates): CombinedOutcome {
  const tickers: CandidateTicker[] = [];
  const lost = lostTickers(outcomes);
  for (const name of [...bases.keys()].filter((ticker) => !lost.has(ticker)).sort(compareCodePoints)) {
    const fitted = outcomes.map(({ forecasts }) => forecasts.get(name));
    tickers.push(candidateTicker(bases.get(name)!, fitted, choice));
  }
  const tested = tickers.map((ticker) => ticker.tested);
  const chosen = choosePrequentially(tested, outcomes.length, choice);
  const fitted: FittedTicker[] = [];
  for (const [i, ticker] of tickers.entries()) {
    fitted.push(combined(ticker, chosen, i, choice));
  }
  const result = choiceResult(tickers, chosen, choice);
  const reports = outcomes.map(reportOf);
  const [{ outcome }] = outcomes as readonly [CandidateOutcome];
  return {
    ...outcome,
    fitted,
    failures: commonFailures([{ failures: [...lost.values()] }, ...reports], fitted),
    warnings: [...outcome.warnings, ...choiceWarnings(reports, result)],
    choice: result,
  };
}

function reportOf({ outcome: { failures, warnings }, forecasts }: CandidateOutcome): CandidateReport {
  return { failures, warnings: [...[...forecasts.values()].flatMap((own) => own.warnings), ...warnings] };
}

/** A ticker with the forecasts of its members. */
function combined(
  { base: { candidate: base, fits: whole }, fitted, tested, warmUpFolds, warmUpRows }: CandidateTicker,
  chosen: PrequentialChoice,
  index: number,
  choice: MlCandidates,
): FittedTicker {
  const { members } = chosen;
  const { importances, lastImportances, ...first } = whole;
  const { score } = first;
  const aligned = fitted.map((own) => alignedTo(score.days, own?.score));
  const predicted = new Float64Array(score.days.length);
  memberMeans(aligned, members, predicted);
  const spansOf = (part: "tested" | "score") => fitted.map((own) => own?.[part].spans ?? []);
  const folds = first.folds.slice(warmUpFolds);
  const { ticker, days, labelDays, realised, trainingMean, labelDeviation } = first.heldOut;
  const heldOut = {
    ...{ ticker, labelDeviation },
    days: days.subarray(warmUpRows),
    labelDays: labelDays.subarray(warmUpRows),
    predicted: chosen.predicted[index]!.subarray(warmUpRows),
    realised: realised.subarray(warmUpRows),
    trainingMean: trainingMean.subarray(warmUpRows),
    spans: memberLevels(
      tested.days,
      tested.predicted,
      spansOf("tested"),
      tested.folds.map((fold) => ({ ...fold, members: membersAt(chosen, fold.first) })),
    ),
  };
  const isAlone = members.length === 1 && members[0] === base;
  return {
    ...first,
    folds,
    heldOut,
    residuals: heldOut,
    score: {
      ...score,
      predicted,
      spans: memberLevels(score.days, aligned, spansOf("score"), [
        { from: 0, to: predicted.length, members },
      ]),
    },
    warnings: [
      ...fitted[base]!.warnings.filter(({ code }) => code !== "fewer_folds"),
      ...fewerPublished(first, folds.length, choice),
    ],
    listed: [...first.listed, ...unscaledIn(fitted, base)],
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
function unscaledIn(fitted: readonly (CandidateForecasts | undefined)[], base: number): Listed[] {
  const isUnscaled = ({ code }: Listed) => code === "unscaled_features";
  if (fitted[base]!.listed.some(isUnscaled)) return [];
  return fitted.flatMap((own) => own?.listed.filter(isUnscaled) ?? []).slice(0, 1);
}
