import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { recordedPanelSettings, type ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import {
  type RefitSettings,
  recordedRefitSettings,
  recordsRefits,
  refitSettings,
} from "../../contract/config/refit-settings.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { Metrics } from "../../contract/output/metrics-schemas.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { blockFactors } from "../../evaluate/block-factors.ts";
import { blockSkills } from "../../evaluate/block-skill.ts";
import type { ForecastRows } from "../../evaluate/forecast-rows.ts";
import { metrics } from "../../evaluate/forecast-table.ts";
import type { Factors } from "../../evaluate/shrinkage.ts";
import { mean } from "../../evaluate/statistics.ts";
import type { Fold } from "../../panel/folds.ts";
import { ONE_BLOCK, type RefitBlock } from "../../panel/refit-blocks.ts";
import { type ChoiceResult, choiceOf } from "../shared/choice/choice-result.ts";
import { type DocumentParts, dateTexts, jobDocument, recordedIntervals } from "../shared/job-document.ts";
import type { OrderedJson } from "../shared/ordered-json.ts";
import { type EvaluatedBlock, refitBlocksOf, tickerRefitsOf } from "../shared/refits-output.ts";
import {
  type Exposures,
  hasZeroFactor,
  type LevelledTicker,
  levelTickers,
  type ScoredTicker,
  type ScoreSettings,
  type ScoreTables,
  scoreTables,
  scoreTicker,
} from "../shared/score-tables.ts";
import { negativeSlope, verdictWarnings } from "../shared/ticker-warnings.ts";
import type { PooledFit } from "./fit-pooled.ts";
import { type FittedTicker, outOfFoldRows, type SpreadImportance } from "./fitted-ticker.ts";
import { type ImportanceResult, importanceOf } from "./importance/importance-output.ts";

/** The forecasts of one ticker, with their intervals and its out-of-fold metrics. */
interface EvaluatedTicker extends ScoredTicker {
  readonly fitted: FittedTicker;
  readonly outOfFold: ForecastRows;
  readonly foldMetrics: readonly Metrics[];
  /** Over all out-of-fold rows. */
  readonly oofMetrics: Metrics;
}

interface MlEvaluation {
  readonly tickers: readonly EvaluatedTicker[];
  readonly tables: ScoreTables;
  /** One entry per block; empty if neither refits nor a window were requested. */
  readonly blocks: readonly EvaluatedBlock[];
  /** Warnings of the intervals and of the forecasts. */
  readonly warnings: readonly Warning[];
}

/** Intervals, metrics, baselines and shrinkage of all fitted tickers, in the given order. @param asOf the date of the forecasts. */
export function evaluateMl(
  fitted: readonly FittedTicker[],
  settings: ScoreSettings & RefitSettings,
  asOf: Day,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
  exposures?: Exposures,
): MlEvaluation {
  const isRecorded = recordsRefits(settings);
  const { levels, levelled } = levelTickers(
    fitted.map((ticker) => ({ ...ticker, heldOut: outOfFoldRows(ticker), spans: ticker.outOfFoldSpans })),
  );
  const factors = blockFactors(settings.shrinkage, levelled, blocks);
  const hasZero = hasZeroFactor(factors, fitted);
  const tickers: EvaluatedTicker[] = [];
  for (const [i, ticker] of fitted.entries()) {
    tickers.push(evaluateTicker(ticker, levelled[i]!, { factors, hasZero }, settings, asOf));
  }
  const heldOut = { rows: "out_of_fold", forecasts: levelled.map((ticker) => ticker.heldOut) } as const;
  const tables = scoreTables(tickers, settings, heldOut, levels, exposures);
  const scored = tickers.map(({ score }) => score);
  const skills = isRecorded
    ? blockSkills(
        scored,
        blocks.map(({ from }) => from),
      )
    : [];
  const warnings = [
    ...tickers.flatMap((ticker) => ticker.warnings),
    ...negativeSlope(factors),
    ...verdictWarnings(tables, settings.shrinkage),
  ];
  return {
    tickers,
    tables,
    blocks: skills.map((skill, b) => ({ ...skill, start: blocks[b]!.from, factors: factors[b]!.byTicker })),
    warnings,
  };
}

function evaluateTicker(
  fitted: FittedTicker,
  { heldOut: outOfFold, score }: LevelledTicker,
  { factors, hasZero }: { readonly factors: readonly Factors[]; readonly hasZero: boolean },
  settings: ScoreSettings,
  asOf: Day,
): EvaluatedTicker {
  const { ticker, dates, folds, fit, models } = fitted;
  const facts = {
    ...{ dates, fitLabels: fit.labels, score },
    ...{ heldOut: outOfFold, residuals: outOfFold },
    parts: models.map((model) => ({ ...model, factor: factors[model.block]!.byTicker.get(ticker)! })),
    hasZero,
  };
  return {
    ...scoreTicker(facts, settings, asOf),
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

/** The contents of the output blob of run_ml_job. */
type MlOutputParts = Pick<
  DocumentParts,
  "id" | "createdAt" | "window" | "asOf" | "warnings" | "failures" | "tags" | "provenance" | "machine"
> & {
  readonly settings: MlSettings;
  readonly evaluation: MlEvaluation;
  /** Present if `fit` is pooled. */
  readonly pooled?: PooledFit | undefined;
  /** Present if the job tried several candidates. */
  readonly choice?: ChoiceResult | undefined;
  /** Present with `importance`. */
  readonly importance?: ImportanceResult | undefined;
};

/** The output blob of run_ml_job. */
export function mlOutput({
  settings,
  evaluation,
  pooled,
  choice,
  importance,
  ...parts
}: MlOutputParts): OrderedJson {
  const { tickers } = evaluation;
  return jobDocument({
    ...parts,
    operation: "run_ml_job",
    tickers,
    fits: tickers.map(({ fitted }) => ({ ...fitted, labels: fitted.fit.labels })),
    fitting: {
      ...(pooled === undefined ? {} : { pooled: pooledOf(pooled) }),
      ...(evaluation.blocks.length === 0 ? {} : { refits: refitsOf(evaluation, pooled, settings) }),
      ...(choice === undefined ? {} : { choice: choiceOf(choice, candidateSettings(settings)) }),
      ...(importance === undefined ? {} : { permutation_importance: importanceOf(importance) }),
      cross_validation: new Map(
        tickers.map((ticker) => [ticker.score.ticker, () => crossValidationOf(ticker)]),
      ),
    },
    tables: evaluation.tables,
    intervals: settings.intervals,
    shrinkage: settings.shrinkage,
    model: modelOf(settings),
  });
}

function pooledOf({ fitRows, features, labelMean, foldRows, importances }: PooledFit): OrderedJson {
  return {
    fit_rows: fitRows,
    features,
    label_mean: labelMean,
    fold_rows: [...foldRows],
    ...(importances && {
      importances: importances.map(({ feature, importance }) => ({ feature, importance })),
    }),
  };
}

function crossValidationOf({ fitted, outOfFold, foldMetrics, oofMetrics }: EvaluatedTicker): OrderedJson {
  const { days, labels } = fitted.fit;
  return {
    folds: fitted.folds.map(({ trainStart, trainEnd, testStart, testEnd }, j) => ({
      train_start: formatDay(days[trainStart]!),
      train_end: formatDay(days[trainEnd - 1]!),
      test_start: formatDay(days[testStart]!),
      test_end: formatDay(days[testEnd - 1]!),
      train_rows: trainEnd - trainStart,
      label_mean: mean(labels.subarray(trainStart, trainEnd)),
      ...foldMetrics[j]!,
    })),
    dates: dateTexts(outOfFold.days),
    predicted: outOfFold.predicted,
    realised: outOfFold.realised,
    ...oofMetrics,
  };
}

function candidateSettings({ choice }: MlSettings): OrderedJson[] {
  return choice?.candidates.map((candidate) => modelOf(candidate.settings)) ?? [];
}

/** The resolved configuration: what was fitted, with every default filled in. */
function modelOf(settings: MlSettings): OrderedJson {
  const { model, resolvedParams, cvTestSize, nSplits, intervals, scaler, shrinkage, ...others } = settings;
  const { fit, delay, target, crossSection, refitEvery, window, importance, ...rest } = others;
  // The first two follow from the parameters; the member `choice` of the output records the third.
  const { estimator: _, columnDemands: __, choice: ___, ...unrecorded } = rest;
  unrecorded satisfies Record<string, never>; // A new setting does not compile until it is recorded here.
  return {
    model: model.name,
    library: model.library,
    class: model.className,
    model_params: resolvedParams,
    cv_test_size: cvTestSize,
    n_splits: nSplits,
    scaler,
    shrinkage,
    intervals: recordedIntervals(intervals),
    ...(fit === "per_ticker" ? {} : { fit }),
    ...recordedPanelSettings({ delay, target, crossSection }),
    ...recordedRefitSettings(refitSettings(refitEvery, window)),
    ...(importance ? { importance } : {}),
  };
}

type Refits = NonNullable<OutputBlob["refits"]>;
type Members<Part> = Readonly<Record<keyof Part, OrderedJson>>;

interface RefitParts {
  readonly blocks: readonly EvaluatedBlock[];
  readonly tickers: readonly { readonly fitted: FittedTicker }[];
}

/** The member `refits` of an output. */
function refitsOf(
  { blocks, tickers }: RefitParts,
  pooled: PooledFit | undefined,
  settings: { readonly shrinkage: ShrinkageChoice },
): OrderedJson {
  const fitted = tickers.map((ticker) => ticker.fitted);
  return {
    blocks: refitBlocksOf(blocks, fitted, pooled?.blockRows),
    by_ticker: new Map(
      fitted.map((ticker) => [
        ticker.ticker,
        () => ({ ...tickerRefitsOf(ticker, blocks, settings), ...importancesOf(ticker) }),
      ]),
    ),
    ...importancesOf(pooled),
  } satisfies Members<Omit<Refits, "importances" | "training">>;
}

function importancesOf(fit: { readonly lastImportances?: readonly SpreadImportance[] } | undefined) {
  const importances = fit?.lastImportances;
  return importances === undefined
    ? {}
    : {
        importances: importances.map(({ feature, importance, spread }) => ({
          feature,
          importance,
          ...(spread === undefined ? {} : { spread }),
        })),
      };
}
