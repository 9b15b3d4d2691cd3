import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { formatDay } from "../../contract/data/dates.ts";
import type { Warning } from "../../contract/errors/warnings.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Metrics } from "../../contract/output/output-blob.ts";
import { outOfFoldMeans } from "../../evaluate/baselines.ts";
import type { ForecastRows } from "../../evaluate/forecast-rows.ts";
import { metrics } from "../../evaluate/metrics.ts";
import type { IntervalChoice } from "../../evaluate/score-bounds.ts";
import type { Fold } from "../../panel/folds.ts";
import { type DocumentParts, dateTexts, jobDocument, recordedIntervals } from "../shared/job-document.ts";
import type { OrderedJson } from "../shared/ordered-json.ts";
import {
  type Evidence,
  evaluationUnits,
  evidenceOf,
  type ScoredTicker,
  scoreTicker,
} from "../shared/score-tables.ts";
import type { FittedTicker } from "./fit-tickers.ts";

/** What the forecasts of one ticker are worth. */
export interface EvaluatedTicker extends ScoredTicker {
  readonly fitted: FittedTicker;
  readonly outOfFold: ForecastRows;
  readonly foldMetrics: readonly Metrics[];
  /** Over all out-of-fold rows. */
  readonly oofMetrics: Metrics;
}

export interface Evaluation {
  readonly tickers: readonly EvaluatedTicker[];
  readonly evidence: Evidence;
  readonly warnings: readonly Warning[];
}

/** Intervals, metrics and baselines of all fitted tickers; the order given is kept. */
export function* evaluateMl(
  fitted: readonly FittedTicker[],
  intervals: IntervalChoice,
): Pausable<Evaluation> {
  const warnings: Warning[] = [];
  const tickers: EvaluatedTicker[] = [];
  for (const ticker of fitted) {
    tickers.push(evaluateTicker(ticker, intervals, warnings));
    yield 1;
  }
  const outOfFold = tickers.map((ticker) => ticker.outOfFold);
  return { tickers, evidence: yield* evidenceOf(tickers, intervals, outOfFold), warnings };
}

/** What `evaluateMl` counts. */
export function mlEvaluationUnits(tickers: number): number {
  return evaluationUnits(tickers, 2);
}

function evaluateTicker(fitted: FittedTicker, choice: IntervalChoice, warnings: Warning[]): EvaluatedTicker {
  const { ticker, dates, folds, fit, score } = fitted;
  const tested = folds.flatMap(({ testStart, testEnd }) => range(testStart, testEnd));
  const outOfFold: ForecastRows = {
    ticker,
    days: Int32Array.from(tested, (row) => fit.days[row]!),
    predicted: fitted.outOfFold,
    realised: Float64Array.from(tested, (row) => fit.labels[row]!),
    trainingMean: outOfFoldMeans(fit.labels, folds),
  };
  const facts = { dates, fitLabels: fit.labels, score, residuals: outOfFold };
  const { scored, warnings: about } = scoreTicker(facts, choice);
  warnings.push(...about);
  return {
    ...scored,
    fitted,
    outOfFold,
    foldMetrics: metricsByFold(outOfFold, folds),
    oofMetrics: metrics(outOfFold),
  };
}

function metricsByFold(rows: ForecastRows, folds: readonly Fold[]): Metrics[] {
  let at = 0;
  return folds.map(({ testStart, testEnd }) => {
    const from = at;
    at += testEnd - testStart;
    return metrics({
      predicted: rows.predicted.subarray(from, at),
      realised: rows.realised.subarray(from, at),
      trainingMean: rows.trainingMean.subarray(from, at),
    });
  });
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** What the output blob of run_ml_job is made of. */
export type MlOutputParts = Pick<
  DocumentParts,
  "id" | "createdAt" | "window" | "asOf" | "warnings" | "failures" | "provenance"
> & { readonly settings: MlSettings; readonly evaluation: Evaluation };

/** The output blob of run_ml_job. */
export function mlOutput({ settings, evaluation, ...parts }: MlOutputParts): OrderedJson {
  const { tickers } = evaluation;
  return jobDocument({
    ...parts,
    operation: "run_ml_job",
    tickers,
    making: {
      cross_validation: new Map(
        tickers.map((ticker) => [ticker.score.ticker, () => crossValidationOf(ticker)]),
      ),
    },
    evidence: evaluation.evidence,
    intervals: settings.intervals,
    model: modelOf(settings),
  });
}

function crossValidationOf({ fitted, outOfFold, foldMetrics, oofMetrics }: EvaluatedTicker): OrderedJson {
  const { days } = fitted.fit;
  return {
    folds: fitted.folds.map(({ trainEnd, testStart, testEnd }, j) => ({
      train_start: formatDay(days[0]!),
      train_end: formatDay(days[trainEnd - 1]!),
      test_start: formatDay(days[testStart]!),
      test_end: formatDay(days[testEnd - 1]!),
      train_rows: trainEnd,
      ...foldMetrics[j]!,
    })),
    dates: dateTexts(outOfFold.days),
    predicted: outOfFold.predicted,
    realised: outOfFold.realised,
    ...oofMetrics,
  };
}

/** The resolved configuration: what was fitted, every default filled in. */
function modelOf({ model, resolvedParams, cvTestSize, nSplits, intervals, scaler }: MlSettings): OrderedJson {
  return {
    model: model.name,
    library: model.library,
    class: model.className,
    model_params: resolvedParams,
    cv_test_size: cvTestSize,
    n_splits: nSplits,
    scaler,
    intervals: recordedIntervals(intervals),
  };
}
