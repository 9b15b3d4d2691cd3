import type { MlCandidates } from "../../contract/config/ml-candidates.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { TestedFold } from "../../evaluate/choice/candidate-losses.ts";
import { memberMeans } from "../../evaluate/choice/member-forecasts.ts";
import type { Members } from "../../evaluate/choice/members.ts";
import { choosePrequentially } from "../../evaluate/choice/prequential.ts";
import { rootMeanSquare } from "../../evaluate/statistics.ts";
import { type Fold, fewerFolds } from "../../panel/folds.ts";
import { alignedTo } from "../shared/aligned-forecasts.ts";
import { type ChoiceResult, type ChoiceTicker, choiceResult } from "../shared/choice-result.ts";
import { type CandidateReport, choiceWarnings, commonFailures } from "../shared/choice-warnings.ts";
import type { Listed } from "../shared/listed-warnings.ts";
import type { CandidateOutcome } from "./fit-candidates.ts";
import type { BlockedOutcome } from "./fit-together.ts";
import type { FittedTicker } from "./fitted-ticker.ts";

/** A ticker that at least one candidate could fit. */
interface CandidateTicker extends ChoiceTicker {
  /** The first of these candidates, whose rows and folds are the ticker's. */
  readonly base: number;
  readonly fitted: readonly (FittedTicker | undefined)[];
}

/** The outcome of a job that chose among candidates. */
export type CombinedOutcome = BlockedOutcome & { readonly choice: ChoiceResult };

/**
 * Chooses among the candidates and combines their forecasts into one per row. Everything else about a ticker is that of the first candidate
 * that could fit it.
 */
export function* combineCandidates(
  outcomes: readonly CandidateOutcome[],
  choice: MlCandidates,
): Pausable<CombinedOutcome> {
  const tickers = candidateTickers(outcomes, choice);
  yield 0;
  const tested = tickers.map((ticker) => ticker.tested);
  const chosen = yield* choosePrequentially(tested, outcomes.length, choice);
  const fitted = tickers.map((ticker, i) =>
    combined(ticker, chosen.predicted[i]!, chosen.tickerMembers[i]!, choice),
  );
  yield 0;
  const result = yield* choiceResult(tickers, chosen, choice);
  const reports = outcomes.map(reportOf);
  const [{ outcome }] = outcomes as readonly [CandidateOutcome];
  return {
    ...outcome,
    fitted,
    failures: commonFailures(reports, fitted),
    warnings: [...outcome.warnings, ...choiceWarnings(reports, result)],
    choice: result,
  };
}

function reportOf({ outcome: { fitted, failures, warnings } }: CandidateOutcome): CandidateReport {
  return { failures, warnings: [...fitted.flatMap((ticker) => ticker.warnings), ...warnings] };
}

function candidateTickers(outcomes: readonly CandidateOutcome[], choice: MlCandidates): CandidateTicker[] {
  const byTicker = outcomes.map(
    ({ outcome }) => new Map(outcome.fitted.map((fitted) => [fitted.ticker, fitted])),
  );
  const names = [...new Set(byTicker.flatMap((fitted) => [...fitted.keys()]))].sort(compareCodePoints);
  return names.map((ticker) =>
    candidateTicker(
      byTicker.map((fitted) => fitted.get(ticker)),
      choice,
    ),
  );
}

function candidateTicker(
  fitted: readonly (FittedTicker | undefined)[],
  choice: MlCandidates,
): CandidateTicker {
  const base = fitted.findIndex((own) => own !== undefined);
  const first = fitted[base]!;
  const rows = testedRows(first.folds);
  const days = Int32Array.from(rows, (row) => first.fit.days[row]!);
  const { folds } = first;
  const warmUpFolds = Math.max(0, folds.length - publishedFolds(choice));
  return {
    base,
    fitted,
    warmUpFolds,
    warmUpRows: testedRows(folds.slice(0, warmUpFolds)).length,
    tested: {
      ticker: first.ticker,
      days,
      labelDays: Int32Array.from(rows, (row) => first.fit.labelDays[row]!),
      realised: Float64Array.from(rows, (row) => first.fit.labels[row]!),
      predicted: fitted.map((own) =>
        alignedTo(days, own && { days: testedDays(own), predicted: own.outOfFold }),
      ),
      unit: unitOf(first),
      folds: testedFolds(folds, days),
    },
  };
}

/** The number of folds that the config asks for. */
function publishedFolds({ candidates }: MlCandidates): number {
  return candidates[0]!.settings.nSplits;
}

function testedRows(folds: readonly Fold[]): number[] {
  return folds.flatMap(({ testStart, testEnd }) =>
    Array.from({ length: testEnd - testStart }, (_, i) => testStart + i),
  );
}

function testedDays({ folds, fit }: FittedTicker): Int32Array {
  return Int32Array.from(testedRows(folds), (row) => fit.days[row]!);
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
  { base, fitted, warmUpFolds, warmUpRows }: CandidateTicker,
  outOfFold: Float64Array,
  members: Members,
  choice: MlCandidates,
): FittedTicker {
  const { importances, lastImportances, ...first } = fitted[base]!;
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
function unscaledIn(fitted: readonly (FittedTicker | undefined)[], base: number): Listed[] {
  const isUnscaled = ({ code }: Listed) => code === "unscaled_features";
  if (fitted[base]!.listed.some(isUnscaled)) return [];
  return fitted.flatMap((own) => own?.listed.filter(isUnscaled) ?? []).slice(0, 1);
}
