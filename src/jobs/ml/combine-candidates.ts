import type { MlCandidates } from "../../contract/config/choice/ml-candidates.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { TestedFold } from "../../evaluate/choice/candidate-losses.ts";
import { memberMeans } from "../../evaluate/choice/member-forecasts.ts";
import type { Members } from "../../evaluate/choice/members.ts";
import { choosePrequentially } from "../../evaluate/choice/prequential.ts";
import { rootMeanSquare } from "../../evaluate/statistics.ts";
import { type Fold, fewerFolds } from "../../panel/folds.ts";
import { alignedTo } from "../shared/choice/aligned-forecasts.ts";
import { type ChoiceResult, type ChoiceTicker, choiceResult } from "../shared/choice/choice-result.ts";
import { type CandidateReport, choiceWarnings, commonFailures } from "../shared/choice/choice-warnings.ts";
import { lostTickers } from "../shared/choice/lost-tickers.ts";
import type { Listed } from "../shared/listed-warnings.ts";
import { type CandidateForecasts, testedRows } from "./candidate-forecasts.ts";
import type { CandidateFits, CandidateOutcome } from "./fit-candidates.ts";
import type { BlockedOutcome } from "./fit-together.ts";
import type { FittedTicker } from "./fitted-ticker.ts";

/** A ticker that at least one candidate could fit. */
interface CandidateTicker extends ChoiceTicker {
  /** The first of these candidates, whose rows and folds are the ticker's. */
  readonly base: number;
  /** Its fits. */
  readonly first: FittedTicker;
  readonly fitted: readonly (CandidateForecasts | undefined)[];
}

/** The outcome of a job that chose among candidates. */
export type CombinedOutcome = BlockedOutcome & { readonly choice: ChoiceResult };

/**
 * Chooses among the candidates and combines their forecasts into one per row. Everything else about a ticker is that of the first candidate
 * that could fit it.
 */
export function* combineCandidates(
  { outcomes, bases }: CandidateFits,
  choice: MlCandidates,
): Pausable<CombinedOutcome> {
  const tickers: CandidateTicker[] = [];
  const lost = lostTickers(outcomes);
  for (const name of [...bases.keys()].filter((ticker) => !lost.has(ticker)).sort(compareCodePoints)) {
    yield 0;
    const fitted = outcomes.map(({ forecasts }) => forecasts.get(name));
    tickers.push(candidateTicker(bases.get(name)!, fitted, choice));
  }
  const tested = tickers.map((ticker) => ticker.tested);
  const chosen = yield* choosePrequentially(tested, outcomes.length, choice);
  const fitted: FittedTicker[] = [];
  for (const [i, ticker] of tickers.entries()) {
    yield 0;
    fitted.push(combined(ticker, chosen.predicted[i]!, chosen.tickerMembers[i]!, choice));
  }
  const result = yield* choiceResult(tickers, chosen, choice);
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

function candidateTicker(
  first: FittedTicker,
  fitted: readonly (CandidateForecasts | undefined)[],
  choice: MlCandidates,
): CandidateTicker {
  const base = fitted.findIndex((own) => own !== undefined);
  const { days } = fitted[base]!.tested;
  const { folds } = first;
  const rows = testedRows(folds);
  const warmUpFolds = Math.max(0, folds.length - publishedFolds(choice));
  return {
    base,
    first,
    fitted,
    warmUpFolds,
    warmUpRows: testedRows(folds.slice(0, warmUpFolds)).length,
    tested: {
      ticker: first.ticker,
      days,
      labelDays: Int32Array.from(rows, (row) => first.fit.labelDays[row]!),
      realised: Float64Array.from(rows, (row) => first.fit.labels[row]!),
      predicted: fitted.map((own) => alignedTo(days, own?.tested)),
      unit: unitOf(first),
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
function unitOf({ folds: [first], fit }: FittedTicker): number {
  return first === undefined ? 0 : rootMeanSquare(fit.labels.subarray(first.trainStart, first.trainEnd)) ** 2;
}

/** A ticker with the forecasts of its members. */
function combined(
  { base, first: whole, fitted, warmUpFolds, warmUpRows }: CandidateTicker,
  outOfFold: Float64Array,
  members: Members,
  choice: MlCandidates,
): FittedTicker {
  const { importances, lastImportances, ...first } = whole;
  const { score } = first;
  const predicted = new Float64Array(score.days.length);
  memberMeans(
    fitted.map((own) => alignedTo(score.days, own?.score)),
    members,
    predicted,
  );
  const folds = first.folds.slice(warmUpFolds);
  const isAlone = members.length === 1 && members[0] === base;
  return {
    ...first,
    folds,
    outOfFold: outOfFold.subarray(warmUpRows),
    score: { ...score, predicted },
    warnings: [
      ...first.warnings.filter(({ code }) => code !== "fewer_folds"),
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
