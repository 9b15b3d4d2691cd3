import type { Metrics } from "../contract/output-blob.ts";
import type { Pausable } from "../contract/pausable.ts";
import type { Warning } from "../contract/warnings.ts";
import { outOfFoldMeans } from "../evaluate/baselines.ts";
import type { ForecastRows } from "../evaluate/forecast-rows.ts";
import { metrics } from "../evaluate/metrics.ts";
import type { IntervalChoice } from "../evaluate/score-bounds.ts";
import type { Fold } from "../panel/folds.ts";
import { type Evidence, evaluationUnits, evidenceOf, type ScoredTicker, scoreTicker } from "./evidence.ts";
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
