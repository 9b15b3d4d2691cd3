import type { Warning } from "../../contract/errors/warnings.ts";
import { inTurns, type Pausable } from "../../contract/machine/pausable.ts";
import { type Baselines, baselines, scoreMeans } from "../../evaluate/baselines.ts";
import type { Bounds } from "../../evaluate/conformal.ts";
import { type CoverageTable, coverageTable } from "../../evaluate/coverage.ts";
import type { ForecastRows } from "../../evaluate/forecast-rows.ts";
import { type ForecastTable, forecastTable } from "../../evaluate/forecast-table.ts";
import { type IntervalChoice, type Residuals, scoreBounds } from "../../evaluate/score-bounds.ts";
import type { PanelDates } from "../../panel/as-of.ts";
import type { JobContext } from "./job.ts";
import { timed } from "./timings.ts";

/** The score rows of one ticker: shape (n) each; labels are NaN where the future holds them. */
export interface ScoreRows {
  readonly days: Int32Array;
  readonly labels: Float64Array;
  /** Next-day log-return. */
  readonly predicted: Float64Array;
}

/** The forecasts of one ticker with their intervals. */
export interface ScoredTicker {
  readonly dates: PanelDates;
  readonly score: ForecastRows;
  readonly bounds: Bounds;
}

/** How good the forecasts are. */
export interface Evidence {
  readonly score: ForecastTable;
  /** Absent where there are no folds. */
  readonly outOfFold?: ForecastTable;
  readonly baselines: Baselines;
  /** Absent where no intervals were asked for. */
  readonly coverage?: CoverageTable;
}

/**
 * Puts the historical mean and the intervals beside a ticker's forecasts.
 * @param facts `fitLabels`: labels of all its fit rows; `residuals`: of rows that it was not learned from.
 */
export function scoreTicker(
  facts: {
    readonly dates: PanelDates;
    readonly fitLabels: Float64Array;
    readonly score: ScoreRows;
    readonly residuals: Residuals;
  },
  intervals: IntervalChoice,
): { readonly scored: ScoredTicker; readonly warnings: readonly Warning[] } {
  const { dates, fitLabels, residuals } = facts;
  const { days, labels, predicted } = facts.score;
  const { ticker } = dates;
  const trainingMean = scoreMeans(fitLabels, days.length);
  const { bounds, warnings } = scoreBounds(ticker, predicted, residuals, intervals);
  const score = { ticker, days, predicted, realised: labels, trainingMean };
  return { scored: { dates, score, bounds }, warnings };
}

/** Tables of each set of rows: those of the model and of the two baselines. */
const TABLES = 3;

/**
 * How far judging `tickers` tickers is, in a ticker of a table; their scoring is counted as a table.
 * @param sets of rows: score, and out of fold where there are folds.
 */
export function evaluationUnits(tickers: number, sets: 1 | 2): number {
  return tickers * (1 + sets * TABLES);
}

/** The tables of all tickers. @param outOfFold absent where there are no folds. */
export function* evidenceOf(
  tickers: readonly ScoredTicker[],
  intervals: IntervalChoice,
  outOfFold?: readonly ForecastRows[],
): Pausable<Evidence> {
  const rows = tickers.map((ticker) => ticker.score);
  const coverage =
    intervals === undefined ? {} : { coverage: yield* coverageTable(tickers.map(intervalRows)) };
  const score = yield* forecastTable(rows);
  const folds = outOfFold === undefined ? {} : { outOfFold: yield* forecastTable(outOfFold) };
  return { score, ...folds, baselines: yield* baselines(rows, outOfFold), ...coverage };
}

function intervalRows({ score, bounds }: ScoredTicker) {
  return { ticker: score.ticker, realised: score.realised, ...bounds };
}

/**
 * Judges the forecasts of a job, telling how far that is.
 * @param units of progress that the work counts.
 * @throws the reason of the job's signal.
 */
export async function evaluateInTurns<T>(
  work: Pausable<T>,
  units: number,
  context: Pick<JobContext, "report" | "signal" | "onTiming">,
): Promise<T> {
  const total = Math.max(1, units);
  const report = (done: number) => context.report({ kind: "progress", stage: "evaluate", done, total });
  const evaluation = await timed(context, "evaluate", () =>
    // All units are told once, when the last table is there.
    inTurns(work, context.signal, (done) => report(Math.min(done, total - 1))),
  );
  report(total);
  return evaluation;
}
