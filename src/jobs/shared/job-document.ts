import { withoutSignature } from "../../blob/policy.ts";
import type { Operation } from "../../contract/config/job-operations.ts";
import type { ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { type Machine, OUTPUT_SCHEMA_NAME, type OutputBlob } from "../../contract/output/output-blob.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { metrics } from "../../evaluate/forecast-table.ts";
import {
  type IntervalChoice,
  type IntervalTables,
  METHOD_CONSTANTS,
} from "../../evaluate/intervals/ticker-intervals.ts";
import type { Levels } from "../../evaluate/levels.ts";
import { deviation, mean } from "../../evaluate/statistics.ts";
import { withWarning } from "../../evaluate/verdict/verdict.ts";
import { muRow } from "../../panel/as-of.ts";
import type { ResolvedWindow } from "../../panel/window.ts";
import type { FitOutcome } from "../plan.ts";
import { choiceOf } from "./choice/choice-result.ts";
import type { EvaluatedBlock, Evaluation, ScoredTicker } from "./evaluate-forecasts.ts";
import {
  type DateSpan,
  type ModelledTicker,
  medianSpacing,
  type ScoreModel,
  type SpreadImportance,
} from "./modelled-ticker.ts";
import type { OrderedJson } from "./ordered-json.ts";

/** Every member of a part of the published schema: a new member does not compile until it is given here. */
export type Members<Part> = Readonly<Record<keyof Part, OrderedJson>>;

/** The single regressor of a pooled fit. */
export interface PooledFit {
  readonly fitRows: number;
  readonly features: number;
  /** Mean label over the fit rows of all tickers, log-return. */
  readonly labelMean: number;
  /** The number of training rows of each fold, over all tickers. */
  readonly foldRows: readonly number[];
  /** Importances of the last fit, with their deviations over the fits of all blocks. */
  readonly lastImportances?: readonly SpreadImportance[];
  readonly importances?: readonly SpreadImportance[];
}

export interface DocumentParts {
  readonly operation: Operation;
  readonly id: string;
  readonly createdAt: Date;
  readonly window: ResolvedWindow;
  readonly asOf: Day;
  readonly fits: Omit<FitOutcome, "warnings" | "listed">;
  readonly evaluation: Evaluation;
  readonly intervals: IntervalChoice;
  readonly shrinkage: ShrinkageChoice;
  /** The settings with every default filled in: those of the config, then those of each candidate. */
  readonly model: OrderedJson;
  readonly candidates?: readonly OrderedJson[];
  readonly warnings: readonly Warning[];
  /** Of the request. */
  readonly tags?: readonly string[] | undefined;
  readonly provenance: OrderedJson;
  /** What the libraries ran on; null if none ran. */
  readonly machine: Machine | null;
}

/** The output blob: its origin in the first bytes, forecasts by ticker last, and tickers ascending by code point. */
export function jobDocument(parts: DocumentParts): OrderedJson {
  const { window, evaluation, fits } = parts;
  const { tickers, tables } = evaluation;
  const { refits, cross_validation, training, ...small } = fittingOf(parts);
  return {
    schema: OUTPUT_SCHEMA_NAME,
    operation: parts.operation,
    id: parts.id,
    created_at: parts.createdAt.toISOString(),
    machine: parts.machine && plain(parts.machine),
    window: {
      start: formatDay(window.start),
      end: formatDay(window.end),
      learning_end: window.learningEnd === undefined ? null : formatDay(window.learningEnd),
      as_of: formatDay(parts.asOf),
      median_spacing_days: medianSpacing(fits.tickers),
      ...recordedDelay(window),
    } satisfies Members<Omit<OutputBlob["window"], "delay">>,
    provenance: parts.provenance,
    ...muOf(tickers, parts.asOf),
    ...(tables.verdict && { verdict: plain(withWarning(tables.verdict, parts.warnings)) }),
    metrics: metricsOf(parts),
    model: parts.model,
    warnings: plain(parts.warnings.map(withoutSecrets)),
    failures: plain(fits.failures),
    ...(parts.tags?.length ? { tags: parts.tags } : {}),
    ...small,
    forecasts: new Map(tickers.map((ticker) => [ticker.score.ticker, () => forecastOf(ticker)])),
    fits: new Map(fits.tickers.map((ticker) => [ticker.ticker, () => fitOf(ticker)])),
    ...{ refits, cross_validation, training },
  } satisfies Members<Omit<OutputBlob, keyof Fitting | "mu_model" | "mu_spread" | "verdict" | "tags">>;
}

type Fitting = Pick<
  OutputBlob,
  "cross_validation" | "training" | "pooled" | "refits" | "choice" | "permutation_importance"
>;

/** How the models were fitted. */
function fittingOf(parts: DocumentParts): Partial<Members<Fitting>> {
  const { operation, fits, evaluation, shrinkage, candidates = [] } = parts;
  const { tickers, pooled, choice, importance, training } = fits;
  return {
    ...(pooled === undefined ? {} : { pooled: pooledOf(pooled) }),
    ...(evaluation.blocks.length === 0 ? {} : { refits: refitsOf(fits, evaluation.blocks, shrinkage) }),
    ...(choice === undefined ? {} : { choice: choiceOf(choice, candidates) }),
    ...(importance === undefined ? {} : { permutation_importance: importance }),
    ...(operation === "run_ml_job"
      ? { cross_validation: new Map(tickers.map((own) => [own.ticker, () => crossValidationOf(own)])) }
      : { training: training! }),
  };
}

function pooledOf({ fitRows, features, labelMean, foldRows, importances }: PooledFit): OrderedJson {
  return {
    fit_rows: fitRows,
    features,
    label_mean: labelMean,
    fold_rows: [...foldRows],
    ...importancesOf(importances?.map(({ feature, importance }) => ({ feature, importance }))),
  };
}

function crossValidationOf({ folds, fitDays, fitLabels, heldOut }: ModelledTicker): OrderedJson {
  const { predicted, realised, trainingMean } = heldOut;
  let at = 0;
  return {
    folds: folds!.map(({ trainStart, trainEnd, testStart, testEnd }) => {
      const from = at;
      at += testEnd - testStart;
      return {
        train_start: formatDay(fitDays![trainStart]!),
        train_end: formatDay(fitDays![trainEnd - 1]!),
        test_start: formatDay(fitDays![testStart]!),
        test_end: formatDay(fitDays![testEnd - 1]!),
        train_rows: trainEnd - trainStart,
        label_mean: mean(fitLabels.subarray(trainStart, trainEnd)),
        ...metrics({
          predicted: predicted.subarray(from, at),
          realised: realised.subarray(from, at),
          trainingMean: trainingMean.subarray(from, at),
        }),
      };
    }),
    dates: dateTexts(heldOut.days),
    predicted,
    realised,
    ...metrics(heldOut),
  };
}

type Refits = NonNullable<OutputBlob["refits"]>;

/** The member `refits` of an output. */
function refitsOf(
  { tickers, pooled, blockRows = [], blockTraining }: DocumentParts["fits"],
  blocks: readonly EvaluatedBlock[],
  shrinkage: ShrinkageChoice,
): OrderedJson {
  const models = Map.groupBy(
    tickers.flatMap((ticker) => ticker.models),
    ({ block }) => block,
  );
  return {
    blocks: blocks.map((block, b) => blockOf(block, models.get(b) ?? [], blockRows[b])),
    by_ticker: new Map(tickers.map((own) => [own.ticker, () => tickerRefitsOf(own, blocks, shrinkage)])),
    ...importancesOf(pooled?.lastImportances),
    ...(blockTraining === undefined ? {} : { training: blockTraining }),
  } satisfies Members<Omit<Refits, "importances" | "training">>;
}

function blockOf(
  { start, end, tickers, table: { pooled: own, cross_section: across } }: EvaluatedBlock,
  models: readonly ScoreModel[],
  blockRows: number | undefined,
): OrderedJson {
  return {
    start: formatDay(start),
    end: formatDay(end),
    fit_rows: blockRows ?? models.reduce((sum, { fitRows }) => sum + fitRows, 0),
    tickers,
    stand_ins: models.filter(({ isStandIn }) => isStandIn).length,
    n: own.n,
    r2_zero: own.r2_zero,
    hit_rate: own.hit_rate,
    dates: across.dates,
    ic_mean: across.ic_mean,
    rank_ic_mean: across.rank_ic_mean,
  } satisfies Members<Refits["blocks"][number]>;
}

function tickerRefitsOf(
  { ticker, models, joins, lastImportances }: ModelledTicker,
  blocks: readonly EvaluatedBlock[],
  shrinkage: ShrinkageChoice,
): OrderedJson {
  const own = new Map(models.map((model) => [model.block, model]));
  const byBlock = (value: (block: number) => number) => blocks.map((_, b) => (own.has(b) ? value(b) : null));
  return {
    ...(joins === undefined ? {} : { joins: formatDay(joins) }),
    label_means: byBlock((b) => own.get(b)!.labelMean),
    ...(shrinkage === "none" ? {} : { factors: byBlock((b) => blocks[b]!.factors.get(ticker)!) }),
    ...importancesOf(lastImportances),
  } satisfies Members<Omit<Refits["by_ticker"][string], "importances" | "factors" | "joins">>;
}

function importancesOf(importances: readonly SpreadImportance[] | undefined) {
  return importances === undefined ? {} : { importances: plain(importances) };
}

type Fit = NonNullable<OutputBlob["fits"]>[string];

/** The rows that a ticker's model was fitted on, and the weights of its features. */
function fitOf({ rows, fitLabels, importances, splits }: ModelledTicker): OrderedJson {
  return {
    fit_rows: rows.fitRows,
    features: rows.features,
    label_mean: mean(fitLabels),
    label_deviation: deviation(fitLabels),
    ...importancesOf(importances),
    ...(splits && {
      splits: {
        train: dated(splits.train),
        validate: dated(splits.validate),
        calibrate: dated(splits.calibrate),
      } satisfies Members<NonNullable<Fit["splits"]>>,
    }),
  } satisfies Members<Omit<Fit, "importances" | "splits">>;
}

function dated(span: DateSpan | undefined): OrderedJson {
  return span === undefined ? null : { start: formatDay(span.start), end: formatDay(span.end) };
}

export function recordedDelay({ delay = 0 }: Pick<ResolvedWindow, "delay">): { readonly delay?: number } {
  return delay === 0 ? {} : { delay };
}

/** A warning that quotes the config may quote a URL with its signature. */
function withoutSecrets(warning: Warning): Warning {
  return { ...warning, message: withoutSignature(warning.message) };
}

/**
 * The forecast return at `asOf` of each ticker that has one, the date of the row that it is forecast from, and, for an ensemble, how far
 * its members are apart.
 */
function muOf(tickers: readonly ScoredTicker[], asOf: number) {
  const mu = new Map<string, number>();
  const dated = new Map<string, string>();
  const spreads = new Map<string, number>();
  const own = new Map<string, number>();
  for (const { dates, score, spread, model } of tickers) {
    const { row } = muRow(dates, asOf);
    if (row === undefined) continue;
    mu.set(score.ticker, score.predicted.at(-1)!);
    dated.set(score.ticker, formatDay(dates.days[row]!));
    if (spread !== undefined) spreads.set(score.ticker, spread);
    if (model !== undefined) own.set(score.ticker, model.at(-1)!);
  }
  return {
    mu,
    ...(own.size === 0 ? {} : { mu_model: own }),
    mu_dates: dated,
    ...(spreads.size === 0 ? {} : { mu_spread: spreads }),
  } satisfies Members<Pick<OutputBlob, "mu" | "mu_dates">>;
}

function forecastOf({ score, bounds, model }: ScoredTicker): OrderedJson {
  return {
    dates: dateTexts(score.days),
    predicted: score.predicted,
    realised: nullable(score.realised),
    lower: nullable(bounds.lower),
    upper: nullable(bounds.upper),
    ...(model === undefined ? {} : { model }),
  } satisfies Members<Omit<OutputBlob["forecasts"][string], "model">>;
}

function metricsOf({ evaluation, intervals, shrinkage: choice }: DocumentParts): OrderedJson {
  const { tickers, tables } = evaluation;
  const { score, outOfFold, baselines, shrinkage, levels } = tables;
  const applied = new Map(tickers.map(({ score: { ticker }, factor }) => [ticker, factor]));
  return {
    score: plain(score),
    ...(outOfFold === undefined ? {} : { out_of_fold: plain(outOfFold) }),
    baselines: plain(baselines),
    shrinkage: plain({
      ...shrinkage,
      ...(choice === "none" ? {} : { applied }),
      levels: { held_out: levelsOf(levels.heldOut), score: levelsOf(levels.score) },
    }),
    intervals: intervalsOf(tables.intervals, intervals),
  } satisfies Members<Omit<OutputBlob["metrics"], "out_of_fold">>;
}

function levelsOf(levels: Levels): OrderedJson[] {
  return levels.map(({ from, level }) => ({ start: formatDay(from), level }));
}

function intervalsOf(tables: IntervalTables | undefined, intervals: IntervalChoice): OrderedJson {
  if (tables === undefined || intervals === undefined) return null;
  const { pooled, by_volatility, joint_misses, by_ticker, others } = tables;
  return {
    ...intervals,
    constants: plain(METHOD_CONSTANTS[intervals.method]),
    pooled: plain(pooled),
    by_volatility: plain(by_volatility),
    joint_misses: plain(joint_misses),
    by_ticker: plain(by_ticker),
    other_methods: plain(others),
  } satisfies Members<NonNullable<OutputBlob["metrics"]["intervals"]>>;
}

/** Shape (n): each day as `YYYY-MM-DD`. */
function dateTexts(days: Int32Array): string[] {
  return Array.from(days, formatDay);
}

/** NaN as null. */
function nullable(values: Float64Array): (number | null)[] {
  return Array.from(values, (value) => (Number.isNaN(value) ? null : value));
}

/** Declares plain JSON data as such: TypeScript gives an interface no index signature. */
export function plain<T extends object>(value: T): T & OrderedJson {
  return value as T & OrderedJson;
}
