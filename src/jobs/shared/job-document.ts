import { withoutSignature } from "../../blob/policy.ts";
import type { Operation } from "../../contract/config/job-operations.ts";
import type { ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { type Machine, OUTPUT_SCHEMA_NAME, type OutputBlob } from "../../contract/output/output-blob.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { metrics } from "../../evaluate/forecast-table.ts";
import { type IntervalChoice, METHOD_CONSTANTS } from "../../evaluate/intervals/ticker-intervals.ts";
import type { Levels } from "../../evaluate/levels.ts";
import { deviation, mean } from "../../evaluate/statistics.ts";
import { withWarning } from "../../evaluate/verdict/verdict.ts";
import type { ResolvedWindow } from "../../panel/window.ts";
import type { FitOutcome } from "../plan.ts";
import { choiceOf } from "./choice-result.ts";
import type { Evaluation, ScoredTicker } from "./evaluate-forecasts.ts";
import { type Importance, type ModelledTicker, medianSpacing } from "./modelled-ticker.ts";
import type { OrderedJson } from "./ordered-json.ts";

interface DocumentParts {
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
  readonly tags?: readonly string[] | undefined;
  readonly provenance: OrderedJson;
  readonly machine: Machine | null;
}

/** The output blob: its origin in the first bytes, forecasts by ticker last, and tickers ascending by code point. */
export function jobDocument(parts: DocumentParts): OrderedJson {
  const { window, evaluation, fits, warnings, tags, shrinkage, operation } = parts;
  const { tickers, tables, blocks } = evaluation;
  const { pooled, choice, importance, training } = fits;
  // A warning that quotes the config may quote a URL with its signature.
  const safe = warnings.map((one) => ({ ...one, message: withoutSignature(one.message) }));
  const byTicker = <T>(all: readonly T[], name: (one: T) => string, value: (one: T) => OrderedJson) =>
    new Map(all.map((one) => [name(one), () => value(one)]));
  const nameOf = ({ ticker }: ModelledTicker) => ticker;
  return {
    schema: OUTPUT_SCHEMA_NAME,
    operation,
    id: parts.id,
    created_at: parts.createdAt.toISOString(),
    machine: parts.machine && plain(parts.machine),
    window: { ...recordedWindow(window, parts.asOf, medianSpacing(fits.tickers)) },
    provenance: parts.provenance,
    ...muOf(tickers),
    ...(tables.verdict && { verdict: plain(withWarning(tables.verdict, warnings)) }),
    metrics: metricsOf(parts),
    model: parts.model,
    warnings: plain(safe),
    failures: plain(fits.failures),
    ...(tags?.length ? { tags } : {}),
    ...(pooled && { pooled }),
    ...(choice && { choice: choiceOf(choice, parts.candidates ?? []) }),
    ...(importance && { permutation_importance: importance }),
    forecasts: byTicker(tickers, ({ score }) => score.ticker, forecastOf),
    fits: byTicker(fits.tickers, nameOf, fitOf),
    ...(blocks.length === 0 ? {} : { refits: refitsOf(fits, blocks, shrinkage) }),
    ...(operation === "run_ml_job"
      ? { cross_validation: byTicker(fits.tickers, nameOf, crossValidationOf) }
      : { training: training! }),
  };
}

export function recordedWindow(
  { start, end, learningEnd, delay = 0 }: ResolvedWindow,
  asOf: Day,
  median_spacing_days: number | null,
): OutputBlob["window"] {
  return {
    start: formatDay(start),
    end: formatDay(end),
    learning_end: learningEnd === undefined ? null : formatDay(learningEnd),
    as_of: formatDay(asOf),
    median_spacing_days,
    ...(delay === 0 ? {} : { delay }),
  };
}

/** The forecast return of each ticker that has one, the date of its row, and, for an ensemble, how far its members are apart. */
function muOf(tickers: readonly ScoredTicker[]) {
  const current = tickers.filter(({ mu }) => mu !== undefined);
  const byTicker = <T>(value: (ticker: ScoredTicker) => T | undefined) =>
    new Map(
      current.map((own) => [own.score.ticker, value(own)] as const).filter(([, one]) => one !== undefined),
    ) as Map<string, T>;
  const models = byTicker(({ model }) => model?.at(-1));
  const spreads = byTicker(({ spread }) => spread);
  return {
    mu: byTicker(({ mu }) => mu),
    ...(models.size === 0 ? {} : { mu_model: models }),
    mu_dates: byTicker(({ dates }) => formatDay(dates.days.at(-1)!)),
    ...(spreads.size === 0 ? {} : { mu_spread: spreads }),
  };
}

function metricsOf({ evaluation, intervals, shrinkage: choice }: DocumentParts): OrderedJson {
  const { tickers, tables } = evaluation;
  const { score, outOfFold, baselines, shrinkage, levels } = tables;
  const { by_ticker, others, pooled, by_volatility, joint_misses } = tables.intervals ?? {};
  const levelsOf = (all: Levels) => all.map(({ from, level }) => ({ start: formatDay(from), level }));
  const applied = new Map(tickers.map(({ score: { ticker }, factor }) => [ticker, factor]));
  return {
    score: plain(score),
    ...(outOfFold && { out_of_fold: plain(outOfFold) }),
    baselines: plain(baselines),
    shrinkage: plain({
      ...shrinkage,
      ...(choice === "none" ? {} : { applied }),
      levels: { held_out: levelsOf(levels.heldOut), score: levelsOf(levels.score) },
    }),
    intervals:
      tables.intervals === undefined || intervals === undefined
        ? null
        : plain({
            ...intervals,
            constants: METHOD_CONSTANTS[intervals.method],
            ...{ pooled, by_volatility, joint_misses, by_ticker, other_methods: others },
          }),
  };
}

function importancesOf(importances: readonly Importance[] | undefined) {
  return importances === undefined ? {} : { importances: plain(importances) };
}

function forecastOf({ score, bounds, model }: ScoredTicker): OrderedJson {
  const nullable = (values: Float64Array) =>
    Array.from(values, (value) => (Number.isNaN(value) ? null : value));
  return {
    dates: Array.from(score.days, formatDay),
    predicted: score.predicted,
    realised: nullable(score.realised),
    lower: nullable(bounds.lower),
    upper: nullable(bounds.upper),
    ...(model && { model }),
  };
}

function fitOf({ rows, fitLabels, importances, splits }: ModelledTicker): OrderedJson {
  return {
    fit_rows: rows.fitRows,
    features: rows.features,
    label_mean: mean(fitLabels),
    label_deviation: deviation(fitLabels),
    ...importancesOf(importances),
    ...(splits && { splits: plain(splits) }),
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
    dates: Array.from(heldOut.days, formatDay),
    ...{ predicted, realised },
    ...metrics(heldOut),
  };
}

function refitsOf(
  { tickers, lastImportances, blockRows = [], blockTraining }: DocumentParts["fits"],
  blocks: Evaluation["blocks"],
  shrinkage: ShrinkageChoice,
): OrderedJson {
  const models = Map.groupBy(
    tickers.flatMap((ticker) => ticker.models),
    ({ block }) => block,
  );
  return {
    blocks: blocks.map(({ start, end, tickers, table: { pooled: own, cross_section: across } }, b) => ({
      start: formatDay(start),
      end: formatDay(end),
      fit_rows: blockRows[b] ?? (models.get(b) ?? []).reduce((sum, { fitRows }) => sum + fitRows, 0),
      tickers,
      stand_ins: (models.get(b) ?? []).filter(({ isStandIn }) => isStandIn).length,
      ...{ n: own.n, r2_zero: own.r2_zero, hit_rate: own.hit_rate },
      ...{ dates: across.dates, ic_mean: across.ic_mean, rank_ic_mean: across.rank_ic_mean },
    })),
    by_ticker: new Map(tickers.map((own) => [own.ticker, () => tickerRefitsOf(own, blocks, shrinkage)])),
    ...importancesOf(lastImportances),
    ...(blockTraining && { training: blockTraining }),
  };
}

function tickerRefitsOf(
  { ticker, models, joins, lastImportances }: ModelledTicker,
  blocks: Evaluation["blocks"],
  shrinkage: ShrinkageChoice,
): OrderedJson {
  const means = new Map(models.map(({ block, labelMean }) => [block, labelMean]));
  const factors = blocks.map((block, b) => (means.has(b) ? block.factors.get(ticker)! : null));
  return {
    ...(joins === undefined ? {} : { joins: formatDay(joins) }),
    label_means: blocks.map((_, b) => means.get(b) ?? null),
    ...(shrinkage === "none" ? {} : { factors }),
    ...importancesOf(lastImportances),
  };
}

/** Declares plain JSON data as such: TypeScript gives an interface no index signature. */
export function plain<T extends object>(value: T): T & OrderedJson {
  return value as T & OrderedJson;
}
