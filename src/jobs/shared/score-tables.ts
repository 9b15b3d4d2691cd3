import type { ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import { inTurns, type Pausable } from "../../contract/machine/pausable.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { TickerExposures } from "../../contract/market/ticker-series.ts";
import type { Coverage } from "../../contract/output/metrics-schemas.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/order-name.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import type { JudgedRows, Verdict } from "../../contract/output/verdict.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { type SetTables, setTables } from "../../evaluate/baselines.ts";
import { delayedOrders } from "../../evaluate/delayed-order.ts";
import { exposureTable } from "../../evaluate/exposures.ts";
import { type DatedForecasts, type ForecastRows, labelled } from "../../evaluate/forecast-rows.ts";
import type { ForecastTable } from "../../evaluate/forecast-table.ts";
import type { Bounds } from "../../evaluate/intervals/conformal.ts";
import {
  type IntervalChoice,
  type IntervalTables,
  intervalTables,
  type TickerIntervals,
  tickerIntervals,
} from "../../evaluate/intervals/ticker-intervals.ts";
import { isWild, type ShrinkageTable, shrinkageTable } from "../../evaluate/shrinkage.ts";
import { deviation } from "../../evaluate/statistics.ts";
import { type BoundedRows, coverageByDate } from "../../evaluate/verdict/findings.ts";
import { laterSentence } from "../../evaluate/verdict/later-sentence.ts";
import { type JudgedSet, verdictOf } from "../../evaluate/verdict/verdict.ts";
import { muRow, type PanelDates } from "../../panel/as-of.ts";
import type { JobContext } from "./job.ts";
import { timed } from "./timings.ts";

/** The score rows of one ticker, ascending by date. */
export interface ScoreRows {
  /** Shape (n). */
  readonly days: Int32Array;
  /** Shape (n): next-day log-return, NaN if the next price is not known yet. */
  readonly labels: Float64Array;
  /** Shape (n): the date at whose close the label is known. */
  readonly labelDays: Int32Array;
  /** Shape (n): deviation of the last returns known at the date. */
  readonly volatility: Float64Array;
  /** Shape (n): next-day log-return. */
  readonly predicted: Float64Array;
}

/** The forecasts that a job derives from those of its models. */
export interface ScoreSettings {
  readonly intervals?: IntervalChoice;
  /** Dates between a row's own close and the close from which its label begins. */
  readonly delay?: number;
  readonly shrinkage: ShrinkageChoice;
}

/** The forecasts of one ticker with their intervals. */
export interface ScoredTicker {
  readonly dates: PanelDates;
  /** Published forecasts: the model's, times `factor`. */
  readonly score: ForecastRows;
  /** Shape (n): the model's own forecasts of the score rows. */
  readonly unshrunk: Float64Array;
  /** Standard deviation (ddof 0) of the labels of its fit rows. */
  readonly labelDeviation: number;
  /** The model's own forecasts of the rows by which they were judged, all labelled. */
  readonly heldOut: ForecastRows;
  /** The rows whose residuals make the intervals: the model's own forecasts. */
  readonly residuals: DatedForecasts;
  /** The factor by which shrinkage multiplies its last forecasts, including mu. */
  readonly factor: number;
  /** For an ensemble, how far its members' published forecasts of the last score row are from each other. */
  readonly spread?: number;
  /** Whether the published forecasts are too large to be believed. */
  readonly isWild: boolean;
  readonly bounds: Bounds;
  /** Absent if no intervals were requested. */
  readonly intervals?: TickerIntervals;
  /** Warnings of its intervals. */
  readonly warnings: readonly Warning[];
}

/** The tables of one forecast: on the score rows and, if there are folds, out of fold. */
interface ForecastTables {
  readonly score: ForecastTable;
  readonly out_of_fold?: ForecastTable;
}

/** The table of the model's forecasts, with what their order is worth. */
type ModelTable = ForecastTable & Pick<OutputBlob["metrics"]["score"], "by_delay" | "exposures">;

/** How good the forecasts are: the tables of the model and of the baselines, the shrinkage, and the coverage of the intervals. */
export interface ScoreTables {
  readonly score: ModelTable;
  /** Absent if there are no folds. */
  readonly outOfFold?: ModelTable;
  readonly baselines: { readonly zero: ForecastTables; readonly mean: ForecastTables };
  readonly shrinkage: ShrinkageTable;
  /** Absent if no intervals were requested. */
  readonly intervals?: IntervalTables;
  /** Absent without a ticker. */
  readonly verdict?: Verdict;
}

/**
 * Multiplies a ticker's forecasts by its factors, and adds the historical mean and the intervals.
 * @param facts `fitLabels`: labels of all its fit rows; `heldOut`: labelled rows that the model did not learn from, by which its forecasts
 *   are judged; `residuals`: those that make the intervals; `parts`: its score rows, in time order. @param asOf the date of the forecasts.
 */
export function* scoreTicker(
  facts: {
    readonly dates: PanelDates;
    readonly fitLabels: Float64Array;
    readonly score: ScoreRows;
    readonly heldOut: ForecastRows;
    readonly residuals: DatedForecasts;
    readonly parts: readonly ScorePart[];
    readonly spread?: number;
  },
  { intervals }: Pick<ScoreSettings, "intervals">,
  asOf: Day,
): Pausable<ScoredTicker> {
  const { dates, fitLabels, heldOut, residuals, parts, spread } = facts;
  const { days, labels, labelDays, volatility } = facts.score;
  const { ticker } = dates;
  // Held-out rows were known before the first model forecast a score row.
  const published = scaledBy(parts[0]!.factor);
  const { factor } = parts.at(-1)!;
  const { predicted, trainingMean } = scoreParts(facts.score.predicted, parts);
  const score = { ticker, days, predicted, realised: labels, trainingMean };
  const rows = { days, labelDays, realised: labels, predicted, volatility };
  const mu = muRow(dates, asOf).row === undefined ? undefined : predicted.at(-1);
  return {
    dates,
    score,
    unshrunk: facts.score.predicted,
    labelDeviation: deviation(fitLabels),
    heldOut,
    residuals,
    factor,
    ...(spread === undefined ? {} : { spread: factor * spread }),
    isWild: isWild({ fitLabels, heldOut: published(heldOut), score: predicted, mu }),
    ...(yield* tickerIntervals(ticker, rows, published(residuals), intervals)),
  };
}

/** Score rows of one model: positions [from, to). */
export interface ScorePart {
  readonly from: number;
  readonly to: number;
  /** The mean of the labels that the model learned from. */
  readonly labelMean: number;
  /** The factor by which shrinkage multiplies its forecasts. */
  readonly factor: number;
}

type Published = <T extends { readonly predicted: Float64Array }>(rows: T) => T;

function scaledBy(factor: number): Published {
  if (factor === 1) return (rows) => rows;
  return (rows) => ({ ...rows, predicted: rows.predicted.map((value) => factor * value) });
}

/** The published forecasts of all parts, each with the historical mean. */
function scoreParts(own: Float64Array, parts: readonly ScorePart[]) {
  const predicted = own.slice();
  const trainingMean = new Float64Array(own.length);
  for (const { from, to, labelMean, factor } of parts) {
    for (let row = from; row < to; row++) predicted[row] = factor * own[row]!;
    trainingMean.fill(labelMean, from, to);
  }
  return { predicted, trainingMean };
}

/** The rows before the score rows by which the models' own forecasts are judged. */
export interface HeldOutRows {
  readonly rows: Exclude<JudgedRows, "score">;
  readonly forecasts: readonly ForecastRows[];
}

/** By ticker. */
export type Exposures = ReadonlyMap<string, TickerExposures>;

/** The tables and the verdict of all tickers. @param exposures at the dates of all rows; absent if there are too few tickers. */
export function* scoreTables(
  tickers: readonly ScoredTicker[],
  { intervals, delay = 0 }: Pick<ScoreSettings, "intervals" | "delay">,
  heldOut: HeldOutRows,
  exposures?: Exposures,
): Pausable<ScoreTables> {
  const outOfFold = heldOut.rows === "out_of_fold" ? heldOut.forecasts : undefined;
  const covered =
    intervals === undefined
      ? undefined
      : yield* intervalTables(
          tickers.flatMap((ticker) => ticker.intervals ?? []),
          intervals.alpha,
        );
  const scored = yield* setTables(tickers.map((ticker) => ticker.score));
  const tested = outOfFold && (yield* setTables(outOfFold));
  const tables = (name: keyof SetTables): ForecastTables =>
    tested === undefined ? { score: scored[name] } : { score: scored[name], out_of_fold: tested[name] };
  const shrinkage = yield* shrinkageTable(tickers.map((ticker) => ticker.heldOut));
  const worth = (rows: readonly DatedForecasts[]) => orderWorth(rows, tickers, delay, exposures);
  const own = tickers.map(({ score, unshrunk }) => ({ ...score, predicted: unshrunk }));
  const score = { ...scored.model, ...(yield* worth(own)) };
  const folds = tested && { ...tested.model, ...(yield* worth(outOfFold!)) };
  const orders = { score: score.by_delay, out_of_fold: folds?.by_delay };
  return {
    score,
    ...(folds === undefined ? {} : { outOfFold: folds }),
    baselines: { zero: tables("zero"), mean: tables("mean") },
    shrinkage,
    ...(covered === undefined ? {} : { intervals: covered }),
    ...(tickers.length === 0
      ? {}
      : {
          verdict: withLater(yield* jobVerdict(tickers, intervals, covered?.by_volatility, heldOut), orders),
        }),
  };
}

/** @param rows with the models' own forecasts, whose order no factor changes. */
function* orderWorth(
  rows: readonly DatedForecasts[],
  tickers: readonly ScoredTicker[],
  delay: number,
  exposures: Exposures | undefined,
): Pausable<Pick<ModelTable, "by_delay" | "exposures">> {
  if (tickers.length === 0) return {};
  const deviations = new Map(tickers.map(({ score, labelDeviation }) => [score.ticker, labelDeviation]));
  const scaled = rows.map((row) => ({ ...row, labelDeviation: deviations.get(row.ticker)! }));
  const by_delay = yield* delayedOrders(scaled, delay);
  const compared = rows.filter(({ days }) => days.length > 0).length;
  if (exposures === undefined || compared < MIN_ORDER_TICKERS) return { by_delay };
  return { by_delay, exposures: yield* exposureTable(rows, exposures) };
}

function withLater(verdict: Verdict, orders: Parameters<typeof laterSentence>[0]): Verdict {
  const { judged, ...headline } = verdict;
  const later = laterSentence(orders, verdict.rows);
  return later === undefined ? verdict : { ...headline, later, judged };
}

function* jobVerdict(
  tickers: readonly ScoredTicker[],
  intervals: IntervalChoice,
  byVolatility: readonly Coverage[] | undefined,
  heldOut: HeldOutRows,
): Pausable<Verdict> {
  const tested = intervals && { byDate: yield* coverageByDate(tickers.flatMap(prequentialRows)) };
  const sets: JudgedSet[] = [{ ...heldOut, coverage: tested }];
  const forecasts = tickers.map(({ score }) => labelled(score)).filter(({ days }) => days.length > 0);
  if (forecasts.length > 0) {
    const scored = tickers.map(({ score, bounds }) => ({ ...score, ...bounds }));
    const coverage = intervals && { byDate: yield* coverageByDate(scored), byVolatility };
    sets.push({ rows: "score", forecasts, coverage });
  }
  return yield* verdictOf(sets, intervals);
}

/** The held-out rows with the intervals that earlier residuals give them, for a method that has these. */
function prequentialRows({ residuals, intervals }: ScoredTicker): BoundedRows[] {
  const tested = intervals?.requested.prequential;
  return tested === undefined ? [] : [{ ...tested, days: residuals.days }];
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
    // The total is reported once: below, when the last table is ready.
    inTurns(work, context.signal, (done) => report(Math.min(done, total - 1))),
  );
  report(total);
  return evaluation;
}

/** Tables of each set of rows: those of the model and of the two baselines. */
const TABLES_PER_SET = 3;

/**
 * The units of progress for evaluating `tickers` tickers: one ticker of one table is a unit, and so is the scoring of a ticker.
 * @param sets of rows: score, and out of fold if there are folds.
 */
export function evaluationUnits(tickers: number, sets: 1 | 2): number {
  return tickers * (1 + sets * TABLES_PER_SET);
}
