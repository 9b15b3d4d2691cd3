import type { Intervals } from "../contract/intervals.ts";
import type { Metrics } from "../contract/output-blob.ts";
import type { Warning } from "../contract/warnings.ts";
import { type Baselines, baselines, outOfFoldMeans, scoreMeans } from "../evaluate/baselines.ts";
import {
  type Bounds,
  conformalQuantile,
  conformityScores,
  intervalsAround,
  intervalUnsupported,
} from "../evaluate/conformal.ts";
import { type CoverageTable, coverageTable } from "../evaluate/coverage.ts";
import type { ForecastRows } from "../evaluate/forecast-rows.ts";
import { type ForecastTable, forecastTable } from "../evaluate/forecast-table.ts";
import { metrics } from "../evaluate/metrics.ts";
import type { Fold } from "../panel/folds.ts";
import type { FittedTicker } from "./fit-tickers.ts";

/** What the forecasts of one ticker are worth. */
export interface EvaluatedTicker {
  readonly fitted: FittedTicker;
  readonly score: ForecastRows;
  readonly outOfFold: ForecastRows;
  readonly foldMetrics: readonly Metrics[];
  /** Over all out-of-fold rows. */
  readonly oofMetrics: Metrics;
  readonly bounds: Bounds;
}

export interface Evaluation {
  readonly tickers: readonly EvaluatedTicker[];
  readonly score: ForecastTable;
  readonly outOfFold: ForecastTable;
  readonly baselines: Baselines;
  /** Absent where no intervals were asked for. */
  readonly coverage?: CoverageTable;
  readonly warnings: readonly Warning[];
}

type IntervalChoice = Pick<Intervals, "alpha" | "bound"> | undefined;

/** Intervals, metrics and baselines of all fitted tickers; the order given is kept. */
export function evaluateMl(fitted: readonly FittedTicker[], intervals: IntervalChoice): Evaluation {
  const warnings: Warning[] = [];
  const tickers = fitted.map((ticker) => evaluateTicker(ticker, intervals, warnings));
  const score = tickers.map((ticker) => ticker.score);
  const outOfFold = tickers.map((ticker) => ticker.outOfFold);
  return {
    tickers,
    score: forecastTable(score),
    outOfFold: forecastTable(outOfFold),
    baselines: baselines(score, outOfFold),
    ...(intervals === undefined ? {} : { coverage: coverageTable(tickers.map(intervalRows)) }),
    warnings,
  };
}

function intervalRows({ score, bounds }: EvaluatedTicker) {
  return { ticker: score.ticker, realised: score.realised, ...bounds };
}

function evaluateTicker(fitted: FittedTicker, choice: IntervalChoice, warnings: Warning[]): EvaluatedTicker {
  const { ticker, folds, fit, score } = fitted;
  const tested = folds.flatMap(({ testStart, testEnd }) => range(testStart, testEnd));
  const outOfFold: ForecastRows = {
    ticker,
    days: Int32Array.from(tested, (row) => fit.days[row]!),
    predicted: fitted.outOfFold,
    realised: Float64Array.from(tested, (row) => fit.labels[row]!),
    trainingMean: outOfFoldMeans(fit.labels, folds),
  };
  return {
    fitted,
    outOfFold,
    score: {
      ticker,
      days: score.days,
      predicted: score.predicted,
      realised: score.labels,
      trainingMean: scoreMeans(fit.labels, score.days.length),
    },
    foldMetrics: metricsByFold(outOfFold, folds),
    oofMetrics: metrics(outOfFold),
    bounds: boundsOf(fitted, outOfFold, choice, warnings),
  };
}

function boundsOf(
  { ticker, score }: FittedTicker,
  outOfFold: ForecastRows,
  choice: IntervalChoice,
  warnings: Warning[],
): Bounds {
  if (choice === undefined) return intervalsAround(score.predicted, undefined, "both");
  const residuals = conformityScores(outOfFold.realised, outOfFold.predicted, choice.bound);
  const unsupported = intervalUnsupported(ticker, residuals.length, choice.alpha);
  if (unsupported !== undefined) warnings.push(unsupported);
  return intervalsAround(score.predicted, conformalQuantile(residuals, choice.alpha), choice.bound);
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
