import { inTurns, type Pausable } from "../../contract/machine/pausable.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { type Baselines, baselines, scoreMeans } from "../../evaluate/baselines.ts";
import type { Bounds } from "../../evaluate/conformal.ts";
import type { ForecastRows } from "../../evaluate/forecast-rows.ts";
import { type ForecastTable, forecastTable } from "../../evaluate/forecast-table.ts";
import type { Residuals } from "../../evaluate/interval-rows.ts";
import { type IntervalTables, intervalTables } from "../../evaluate/interval-tables.ts";
import {
  type IntervalChoice,
  type TickerIntervals,
  tickerIntervals,
} from "../../evaluate/ticker-intervals.ts";
import type { PanelDates } from "../../panel/as-of.ts";
import type { JobContext } from "./job.ts";
import { timed } from "./timings.ts";

/** The score rows of one ticker, ascending by date. */
export interface ScoreRows {
  /** Shape (n). */
  readonly days: Int32Array;
  /** Shape (n): next-day log-return, NaN where the next price is not known yet. */
  readonly labels: Float64Array;
  /** Shape (n): the date at whose close the label is known. */
  readonly labelDays: Int32Array;
  /** Shape (n): deviation of the last returns known at the date. */
  readonly volatility: Float64Array;
  /** Shape (n): next-day log-return. */
  readonly predicted: Float64Array;
}

/** The forecasts of one ticker with their intervals. */
export interface ScoredTicker {
  readonly dates: PanelDates;
  readonly score: ForecastRows;
  readonly bounds: Bounds;
  /** Absent where no intervals were asked for. */
  readonly intervals?: TickerIntervals;
  /** Of its intervals. */
  readonly warnings: readonly Warning[];
}

/** How good the forecasts are: the model's tables, those of the baselines, and the coverage of the intervals. */
export interface ScoreTables {
  readonly score: ForecastTable;
  /** Absent where there are no folds. */
  readonly outOfFold?: ForecastTable;
  readonly baselines: Baselines;
  /** Absent where no intervals were asked for. */
  readonly intervals?: IntervalTables;
}

/**
 * Puts the historical mean and the intervals beside a ticker's forecasts.
 * @param facts `fitLabels`: labels of all its fit rows; `residuals`: of rows that the model did not learn from.
 */
export function* scoreTicker(
  facts: {
    readonly dates: PanelDates;
    readonly fitLabels: Float64Array;
    readonly score: ScoreRows;
    readonly residuals: Residuals;
  },
  intervals: IntervalChoice,
): Pausable<ScoredTicker> {
  const { dates, fitLabels, residuals } = facts;
  const { days, labels, labelDays, predicted, volatility } = facts.score;
  const { ticker } = dates;
  const trainingMean = scoreMeans(fitLabels, days.length);
  const score = { ticker, days, predicted, realised: labels, trainingMean };
  const rows = { days, labelDays, realised: labels, predicted, volatility };
  return { dates, score, ...(yield* tickerIntervals(ticker, rows, residuals, intervals)) };
}

/** The tables of all tickers. @param outOfFold absent where there are no folds. */
export function* scoreTables(
  tickers: readonly ScoredTicker[],
  intervals: IntervalChoice,
  outOfFold?: readonly ForecastRows[],
): Pausable<ScoreTables> {
  const rows = tickers.map((ticker) => ticker.score);
  const covered =
    intervals === undefined
      ? {}
      : {
          intervals: yield* intervalTables(
            tickers.flatMap((ticker) => ticker.intervals ?? []),
            intervals.alpha,
          ),
        };
  const score = yield* forecastTable(rows);
  const folds = outOfFold === undefined ? {} : { outOfFold: yield* forecastTable(outOfFold) };
  return { score, ...folds, baselines: yield* baselines(rows, outOfFold), ...covered };
}

/**
 * Evaluates the forecasts of a job, turn by turn, and reports the progress.
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
    // The total is reported once: below, when the last table is there.
    inTurns(work, context.signal, (done) => report(Math.min(done, total - 1))),
  );
  report(total);
  return evaluation;
}

/** Tables of each set of rows: those of the model and of the two baselines. */
const TABLES_PER_SET = 3;

/**
 * The units of progress of evaluating `tickers` tickers: a unit is one ticker of one table, and the scoring of a ticker
 * counts as one more.
 * @param sets of rows: score, and out of fold where there are folds.
 */
export function evaluationUnits(tickers: number, sets: 1 | 2): number {
  return tickers * (1 + sets * TABLES_PER_SET);
}
