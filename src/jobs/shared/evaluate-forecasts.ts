import {
  type RefitSettings,
  recordsRefits,
  type ShrinkageChoice,
} from "../../contract/config/panel-settings.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { TickerExposures } from "../../contract/market/ticker-series.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import type { Coverage } from "../../contract/output/metrics-schemas.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import type { JudgedRows, Verdict } from "../../contract/output/verdict.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { type SetTables, setTables } from "../../evaluate/baselines.ts";
import { blockFactors } from "../../evaluate/block-factors.ts";
import { type BlockSkill, blockSkills } from "../../evaluate/block-skill.ts";
import { delayedOrders } from "../../evaluate/delayed-order.ts";
import { exposureTable } from "../../evaluate/exposures.ts";
import {
  asRanked,
  type DatedForecasts,
  type ForecastRows,
  type HeldOutRows,
  labelled,
} from "../../evaluate/forecast-rows.ts";
import type { ForecastTable } from "../../evaluate/forecast-table.ts";
import { type Bounds, withoutResiduals } from "../../evaluate/intervals/conformal.ts";
import {
  type IntervalChoice,
  type IntervalTables,
  intervalTables,
  type TickerIntervals,
  tickerIntervals,
} from "../../evaluate/intervals/ticker-intervals.ts";
import { commonLevels, type Levels, shrinkForecasts, withLevels } from "../../evaluate/levels.ts";
import { isWild, type ShrinkageTable, shrinkageTable } from "../../evaluate/shrinkage.ts";
import { deviation } from "../../evaluate/statistics.ts";
import { type BoundedRows, coverageByDate } from "../../evaluate/verdict/findings.ts";
import { laterSentence } from "../../evaluate/verdict/later-sentence.ts";
import { type JudgedSet, verdictOf } from "../../evaluate/verdict/verdict.ts";
import { muRow, type PanelDates } from "../../panel/as-of.ts";
import { ONE_BLOCK, type RefitBlock } from "../../panel/refit-blocks.ts";
import { levelKnownAt, type PanelRows } from "../../panel/ticker-panel.ts";
import type { ModelledTicker, ScoreRows } from "./modelled-ticker.ts";
import { negativeSlope, verdictWarnings } from "./ticker-warnings.ts";

/** The forecasts that a job derives from those of its models. */
export interface ScoreSettings {
  readonly intervals?: IntervalChoice;
  /** Of the labels. */
  readonly delay?: number;
  readonly shrinkage: ShrinkageChoice;
}

export interface ScoredTicker {
  readonly dates: PanelDates;
  /** Published forecasts: the model's, times `factor`. */
  readonly score: ForecastRows;
  /** The model's own forecasts of the rows by which they were judged, all labelled. */
  readonly heldOut: ForecastRows;
  /** The rows whose residuals make the intervals: the model's own forecasts. */
  readonly residuals: HeldOutRows;
  /** The factor by which shrinkage multiplies its last forecasts, including mu. */
  readonly factor: number;
  /** Shape (score): the model's own forecasts; absent unless `pooled` shrinkage multiplies some of the job by 0, which cannot be undone. */
  readonly model?: Float64Array;
  /** For an ensemble, how far its members' published forecasts of the last score row are from each other. */
  readonly spread?: number;
  /** Whether the published forecasts are too large to be believed. */
  readonly isWild: boolean;
  readonly bounds: Bounds;
  readonly intervals?: TickerIntervals;
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
  readonly outOfFold?: ModelTable;
  readonly baselines: { readonly zero: ForecastTables; readonly mean: ForecastTables };
  readonly shrinkage: ShrinkageTable;
  readonly levels: JobLevels;
  readonly intervals?: IntervalTables;
  readonly verdict?: Verdict;
}

/**
 * Multiplies a ticker's forecasts by its factors, above their levels with `pooled`, and adds the historical mean and the intervals.
 * @param facts `fitLabels`: labels of all its fit rows; `heldOut`: labelled rows that the model did not learn from, by which its forecasts
 *   are judged; `residuals`: those that make the intervals; `parts`: its score rows, in time order; `hasZero`: whether a factor of any ticker
 *   is 0, so that all tickers of a date keep the model's forecasts. @param asOf the date of the forecasts.
 */
function scoreTicker(
  facts: {
    readonly dates: PanelDates;
    readonly fitLabels: Float64Array;
    readonly score: LevelledScore;
    readonly heldOut: ForecastRows;
    readonly residuals: HeldOutRows;
    readonly parts: readonly ScorePart[];
    readonly spread?: number;
    readonly hasZero: boolean;
  },
  { intervals, shrinkage }: ScoreSettings,
  asOf: Day,
): ScoredTicker {
  const { dates, fitLabels, heldOut, residuals, parts, spread, hasZero } = facts;
  const { days, labels, labelDays, volatility, predicted: own, levels } = facts.score;
  const { ticker } = dates;
  const isPooled = shrinkage === "pooled";
  // Held-out rows were known before the first model forecast a score row.
  const published = <T extends DatedForecasts>(rows: T): T => ({
    ...rows,
    predicted: shrinkForecasts(rows.predicted, isPooled ? rows.levels : undefined, parts[0]!.factor),
  });
  const { factor } = parts.at(-1)!;
  const { predicted, trainingMean } = scoreParts(own, isPooled ? levels : undefined, parts);
  const labelDeviation = deviation(fitLabels);
  const score = {
    ...{ ticker, days, predicted, realised: labels, trainingMean, labelDeviation },
    ...(isPooled ? { ranked: own } : {}),
  };
  const rows = { days, labelDays, realised: labels, predicted, volatility };
  const mu = muRow(dates, asOf).row === undefined ? undefined : predicted.at(-1);
  return {
    dates,
    score,
    heldOut,
    residuals,
    factor,
    ...(isPooled && hasZero ? { model: own } : {}),
    ...(spread === undefined ? {} : { spread: factor * spread }),
    isWild: isWild({ fitLabels, heldOut: published(heldOut), score: predicted, mu }),
    ...tickerIntervals(ticker, rows, published(residuals), intervals),
  };
}

/** Score rows of one model: positions [from, to). */
interface ScorePart {
  readonly from: number;
  readonly to: number;
  /** The mean of the labels that the model learned from. */
  readonly labelMean: number;
  /** The factor by which shrinkage multiplies its forecasts. */
  readonly factor: number;
}

/** The published forecasts of all parts, each with the historical mean. */
function scoreParts(own: Float64Array, levels: Float64Array | undefined, parts: readonly ScorePart[]) {
  const predicted = own.slice();
  const trainingMean = new Float64Array(own.length);
  for (const { from, to, labelMean, factor } of parts) {
    predicted.set(shrinkForecasts(own.subarray(from, to), levels?.subarray(from, to), factor), from);
    trainingMean.fill(labelMean, from, to);
  }
  return { predicted, trainingMean };
}

/** The levels by date that the forecasts of all tickers start from. */
export interface JobLevels {
  readonly heldOut: Levels;
  readonly score: Levels;
}

/** The rows of a ticker with the levels of their dates, shape (n) each; absent if they are 0. */
interface LevelledTicker {
  readonly heldOut: HeldOutRows;
  readonly score: LevelledScore;
}

type LevelledScore = ScoreRows & Pick<DatedForecasts, "levels">;

/** The rows of all tickers with the levels that those of a date share. @param tickers `spans`: what the ticker's own models started from. */
function levelTickers(tickers: readonly Pick<ModelledTicker, "heldOut" | "score">[]): {
  readonly levels: JobLevels;
  readonly levelled: readonly LevelledTicker[];
} {
  const levels = {
    heldOut: commonLevels(tickers.map(({ heldOut }) => heldOut)),
    score: commonLevels(tickers.map(({ heldOut: { ticker }, score }) => ({ ...score, ticker }))),
  };
  const levelled = tickers.map(({ heldOut, score }) => ({
    heldOut: withLevels(heldOut, levels.heldOut),
    score: withLevels(score, levels.score),
  }));
  return { levels, levelled };
}

/** The level of the forecasts of these rows of a panel, which one model made; none without target `relative`. @param known as in `forecastReturns`. */
export function levelOf(
  panel: Pick<PanelRows, "relative" | "days">,
  rows: Int32Array,
  known: Day | undefined,
): Levels {
  const [first] = rows;
  if (panel.relative === undefined || first === undefined) return [];
  return [{ from: panel.days[first]!, level: levelKnownAt(panel, known) }];
}

/** The rows before the score rows by which the models' own forecasts are judged. */
export interface HeldOutSet {
  readonly rows: Exclude<JudgedRows, "score">;
  readonly forecasts: readonly ForecastRows[];
}

export type Exposures = ReadonlyMap<string, TickerExposures>;

export interface EvaluatedBlock extends BlockSkill {
  readonly start: Day;
  /** The factors by which shrinkage multiplies forecasts, by ticker. */
  readonly factors: ReadonlyMap<string, number>;
}

export interface Evaluation {
  /** In the given order. */
  readonly tickers: readonly ScoredTicker[];
  readonly tables: ScoreTables;
  /** One entry per block; empty if neither refits nor a window were requested. */
  readonly blocks: readonly EvaluatedBlock[];
  /** Warnings about the intervals and the forecasts. */
  readonly warnings: readonly Warning[];
}

/**
 * Intervals, metrics, baselines, shrinkage and the verdict of the forecasts of all tickers.
 * @param asOf the date of the forecasts. @param exposures as in `scoreTables`.
 */
export function evaluateForecasts(
  modelled: readonly ModelledTicker[],
  rows: HeldOutSet["rows"],
  settings: ScoreSettings & RefitSettings,
  asOf: Day,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
  exposures?: Exposures,
): Evaluation {
  const { levels, levelled } = levelTickers(modelled);
  const factors = blockFactors(settings.shrinkage, levelled, blocks);
  const hasZero = modelled.some(({ ticker, models }) =>
    models.some(({ block }) => factors[block]!.byTicker.get(ticker) === 0),
  );
  const tickers = modelled.map((own, i) => {
    const parts = own.models.map((model) => ({
      ...model,
      factor: factors[model.block]!.byTicker.get(own.ticker)!,
    }));
    const residuals = withLevels(own.residuals, levels.heldOut);
    return scoreTicker({ ...own, ...levelled[i]!, residuals, parts, hasZero }, settings, asOf);
  });
  const judged = rows === "out_of_fold" ? levelled.map(({ heldOut }) => heldOut) : partsOf(modelled, rows);
  const tables = scoreTables(tickers, settings, { rows, forecasts: judged }, levels, exposures);
  const starts = blocks.map(({ from }) => from);
  const skills =
    recordsRefits(settings) && tickers.length > 0
      ? blockSkills(
          tickers.map(({ score }) => score),
          starts,
        )
      : [];
  // `late_ticker` reports the others.
  const without = modelled.filter(
    ({ residuals, joins }) => residuals.days.length === 0 && joins === undefined,
  );
  return {
    tickers,
    tables,
    blocks: skills.map((skill, b) => ({ ...skill, start: starts[b]!, factors: factors[b]!.byTicker })),
    warnings: [
      ...tickers.flatMap((ticker) => ticker.warnings),
      ...(settings.intervals === undefined || rows === "out_of_fold"
        ? []
        : without.map(({ ticker }) => withoutResiduals(ticker))),
      ...negativeSlope(factors),
      ...verdictWarnings(tables, settings.shrinkage),
    ],
  };
}

/** The calibration part if there is one: the validation part chose the epochs. */
function partsOf(modelled: readonly ModelledTicker[], rows: HeldOutSet["rows"]): HeldOutRows[] {
  if (rows === "validation") return modelled.map(({ heldOut }) => heldOut);
  return modelled.map(({ residuals }) => residuals).filter(({ days }) => days.length > 0);
}

/** The tables and the verdict of all tickers. @param exposures at the dates of all rows; absent if there are too few tickers. */
function scoreTables(
  tickers: readonly ScoredTicker[],
  { intervals, delay = 0 }: Pick<ScoreSettings, "intervals" | "delay">,
  heldOut: HeldOutSet,
  levels: JobLevels,
  exposures?: Exposures,
): ScoreTables {
  const outOfFold = heldOut.rows === "out_of_fold" ? heldOut.forecasts : undefined;
  const covered =
    intervals === undefined
      ? undefined
      : intervalTables(
          tickers.flatMap((ticker) => ticker.intervals ?? []),
          intervals.alpha,
        );
  const scored = setTables(tickers.map((ticker) => ticker.score));
  const tested = outOfFold && setTables(outOfFold);
  const tables = (name: keyof SetTables): ForecastTables =>
    tested === undefined ? { score: scored[name] } : { score: scored[name], out_of_fold: tested[name] };
  const shrinkage = shrinkageTable(tickers.map((ticker) => ticker.heldOut));
  const ranked = tickers.map(({ score }) => asRanked(score));
  const score = { ...scored.model, ...orderWorth(ranked, delay, exposures) };
  const folds = tested && { ...tested.model, ...orderWorth(outOfFold!, delay, exposures) };
  const isOfModel = tickers.some(({ model }) => model !== undefined);
  const orders = { score: score.by_delay, out_of_fold: folds?.by_delay, isOfModel };
  return {
    score,
    ...(folds === undefined ? {} : { outOfFold: folds }),
    baselines: { zero: tables("zero"), mean: tables("mean") },
    ...{ shrinkage, levels },
    ...(covered === undefined ? {} : { intervals: covered }),
    ...(tickers.length === 0
      ? {}
      : {
          verdict: withLater(jobVerdict(tickers, intervals, covered?.by_volatility, heldOut), orders),
        }),
  };
}

/** @param rows with the models' own forecasts, whose order no factor changes. */
function orderWorth(
  rows: readonly ForecastRows[],
  delay: number,
  exposures: Exposures | undefined,
): Pick<ModelTable, "by_delay" | "exposures"> {
  if (rows.length === 0) return {};
  const by_delay = delayedOrders(rows, delay);
  const compared = rows.filter(({ days }) => days.length > 0).length;
  if (exposures === undefined || compared < MIN_ORDER_TICKERS) return { by_delay };
  return { by_delay, exposures: exposureTable(rows, exposures) };
}

function withLater(verdict: Verdict, orders: Parameters<typeof laterSentence>[0]): Verdict {
  const { judged, ...headline } = verdict;
  const later = laterSentence(orders, verdict.rows);
  return later === undefined ? verdict : { ...headline, later, judged };
}

function jobVerdict(
  tickers: readonly ScoredTicker[],
  intervals: IntervalChoice,
  byVolatility: readonly Coverage[] | undefined,
  heldOut: HeldOutSet,
): Verdict {
  const tested = intervals && { byDate: coverageByDate(tickers.flatMap(prequentialRows)) };
  const sets: JudgedSet[] = [{ ...heldOut, coverage: tested }];
  const forecasts = tickers.map(({ score }) => labelled(score)).filter(({ days }) => days.length > 0);
  if (forecasts.length > 0) {
    const scored = tickers.map(({ score, bounds }) => ({ ...score, ...bounds }));
    const coverage = intervals && { byDate: coverageByDate(scored), byVolatility };
    sets.push({ rows: "score", forecasts, coverage });
  }
  return verdictOf(sets, intervals);
}

/** The held-out rows with the intervals that earlier residuals give them, for a method that has these. */
function prequentialRows({ residuals, intervals }: ScoredTicker): BoundedRows[] {
  const tested = intervals?.requested.prequential;
  return tested === undefined ? [] : [{ ...tested, days: residuals.days }];
}
