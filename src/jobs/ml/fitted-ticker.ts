import { counted } from "../../contract/errors/wording.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { readArray } from "../../engine/npy.ts";
import type { FitPredictResult } from "../../engine/pool/protocol.ts";
import { outOfFoldMeans } from "../../evaluate/baselines.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import type { LevelSpan, Levels } from "../../evaluate/levels.ts";
import { deviation, mean, sampleDeviation } from "../../evaluate/statistics.ts";
import { datesOf } from "../../panel/as-of.ts";
import type { Fold } from "../../panel/folds.ts";
import { ONE_BLOCK, type RefitBlock } from "../../panel/refit-blocks.ts";
import { fitLabels, forecastReturns, type PanelRows } from "../../panel/ticker-panel.ts";
import { levelOf } from "../shared/evaluate-forecasts.ts";
import { type Listed, lateTicker, listedOfRows } from "../shared/listed-warnings.ts";
import {
  type Importance,
  type ModelledTicker,
  rowFacts,
  type ScoreModel,
  type SpreadImportance,
} from "../shared/modelled-ticker.ts";
import { constantWarning } from "../shared/ticker-warnings.ts";
import type { FitOptions } from "./fit-ticker.ts";
import { splitPredictions } from "./importance/permuted-predictions.ts";
import { type FitPlan, learnedRows, type PlannedFit, planWarnings } from "./plan-fits.ts";
import { type BlockPredictions, constantOf, failedRefitWarnings } from "./run-refits.ts";

/** A ticker with its regressors' forecasts. Its held-out rows are the test rows of its folds. */
export interface FittedTicker extends ModelledTicker {
  readonly folds: readonly Fold[];
  readonly fitDays: Int32Array;
  /** With `importance`, for each group of features: the forecasts of the held-out rows with the group shuffled. */
  readonly permuted?: readonly Float64Array[];
}

/** A panel without its features, and the listings of these features. */
export type FitRows = PanelRows & { readonly listed: readonly Listed[] };

/** The results of a ticker's fits, in time order. */
interface DoneFits {
  /** Results of the folds and of the first block, by task. */
  readonly fits: readonly { readonly result: FitPredictResult; readonly fits: readonly PlannedFit[] }[];
  readonly refits: readonly BlockPredictions[];
}

/** The forecasts of a ticker whose fits have ended. */
export function fittedTicker(
  panel: FitRows,
  plan: FitPlan,
  { fits: tasks, refits: refitted }: DoneFits,
  { settings, blocks = ONE_BLOCK, groups }: Pick<FitOptions, "settings" | "blocks" | "groups">,
): FittedTicker {
  const { folds, learn } = plan;
  const { ticker, columns } = panel;
  const results = tasks.map(({ result }) => result);
  const parts = tasks.map(({ result, fits }) =>
    splitPredictions(readArray(result.predictions), fits, groups?.length ?? 0),
  );
  const predicted = concatenate(parts.map((part) => part.predicted));
  const byBlock = [firstBlockOf(plan, results, predicted), ...refitted];
  const constant = constantOf(byBlock);
  const { importances, lastImportances } = importancesOf(byBlock, columns);
  const rows = rowFacts(panel);
  const spans = folds.flatMap(({ testStart, testEnd }) => {
    const tested = panel.fit.subarray(testStart, testEnd);
    return levelOf(panel, tested, panel.days[tested[0]!]!);
  });
  return {
    ...fittedRows(panel, byBlock, blocks),
    ...outOfFold(panel, folds, outOfFoldReturns(panel, plan, predicted), spans),
    models: scoreModels(panel, learn, byBlock),
    ...(groups && {
      permuted: groups.map((_, g) =>
        outOfFoldReturns(panel, plan, concatenate(parts.map(({ permuted }) => permuted[g]!))),
      ),
    }),
    rows,
    ...(importances && { importances }),
    ...(lastImportances && { lastImportances }),
    warnings: [
      ...planWarnings(panel, folds, settings),
      ...(constant === undefined ? [] : [constantWarning(ticker, constant)]),
      ...convergenceWarnings(ticker, [...results, ...new Set(refitted.map(({ result }) => result))]),
      ...failedRefitWarnings(byBlock, ticker),
    ],
    listed: [
      ...listedOfRows(ticker, learnedRows(panel, settings), folds),
      ...panel.listed,
      ...lateTicker(panel),
    ],
  };
}

/** The out-of-fold forecasts with their labels. @param predicted shape (test rows of all folds), in time order. */
export function outOfFold(
  panel: PanelRows,
  folds: readonly Fold[],
  predicted: Float64Array,
  spans: Levels,
): Pick<FittedTicker, "folds" | "heldOut" | "residuals"> {
  const { ticker, fit, days, labelDays, y } = panel;
  const rows = Int32Array.from(
    folds.flatMap(({ testStart, testEnd }) => [...fit.subarray(testStart, testEnd)]),
  );
  const labels = fitLabels(panel);
  const heldOut = {
    ticker,
    days: rows.map((row) => days[row]!),
    labelDays: rows.map((row) => labelDays[row]!),
    predicted,
    spans,
    realised: Float64Array.from(rows, (row) => y[row]!),
    trainingMean: outOfFoldMeans(labels, folds),
    labelDeviation: deviation(labels),
  };
  return { folds, heldOut, residuals: heldOut };
}

/** The predictions of the fit on all fit rows, whose task is the last. @param predicted by all tasks. */
function firstBlockOf(
  { folds, first, fits }: FitPlan,
  results: readonly FitPredictResult[],
  predicted: Float64Array,
): BlockPredictions {
  const result = results.at(-1)!;
  const tested = folds.reduce((sum, { testStart, testEnd }) => sum + testEnd - testStart, 0);
  return {
    block: first,
    model: first,
    train: fits.at(-1)!.train,
    predicted: predicted.subarray(tested),
    result,
    diagnosis: result.diagnoses[0],
  };
}

/** The fit and score rows of a ticker, with return forecasts. @param byBlock the predictions of each block's models, in time order. */
export function fittedRows(
  panel: PanelRows,
  byBlock: readonly Pick<BlockPredictions, "model" | "predicted">[],
  blocks: readonly RefitBlock[],
): Pick<FittedTicker, "ticker" | "dates" | "fitDays" | "fitLabels" | "score" | "joins"> {
  const { ticker, days, labelDays, y, volatility, fit, score, joins } = panel;
  let at = 0;
  const spans: LevelSpan[] = [];
  const parts = byBlock.map(({ model, predicted }) => {
    const from = at;
    at += predicted.length;
    const { known } = blocks[model]!;
    const rows = score.subarray(from, at);
    spans.push(...levelOf(panel, rows, known));
    return forecastReturns(panel, rows, predicted, known);
  });
  return {
    ticker,
    dates: datesOf(panel),
    ...(joins === undefined ? {} : { joins }),
    fitDays: fit.map((row) => days[row]!),
    fitLabels: fitLabels(panel),
    score: {
      days: Int32Array.from(score, (row) => days[row]!),
      labels: Float64Array.from(score, (row) => y[row]!),
      labelDays: Int32Array.from(score, (row) => labelDays[row]!),
      volatility: Float64Array.from(score, (row) => volatility[row]!),
      predicted: parts.length === 1 ? parts[0]! : concatenate(parts),
      spans,
    },
  };
}

/** @param byBlock their `train` as positions in `learn`. */
export function scoreModels(
  { y }: Pick<PanelRows, "y">,
  learn: Int32Array,
  byBlock: readonly BlockPredictions[],
): ScoreModel[] {
  let at = 0;
  return byBlock.map(({ block, train, predicted, error }) => {
    const from = at;
    at += predicted.length;
    const labels = Float64Array.from(learn.subarray(...train), (row) => y[row]!);
    const fitRows = labels.length;
    const labelMean = fitRows === 0 ? 0 : mean(labels);
    return { block, from, to: at, fitRows, labelMean, isStandIn: error !== undefined };
  });
}

/** Return forecasts of each fold's test rows. Its model learned from the labels known at the close of the first one. */
function outOfFoldReturns(panel: FitRows, { folds }: FitPlan, predicted: Float64Array): Float64Array {
  let at = 0;
  const parts = folds.map(({ testStart, testEnd }) => {
    const from = at;
    at += testEnd - testStart;
    const rows = panel.fit.subarray(testStart, testEnd);
    return forecastReturns(panel, rows, predicted.subarray(from, at), panel.days[rows[0]!]!);
  });
  return concatenate(parts);
}

function convergenceWarnings(ticker: string, results: readonly FitPredictResult[]): Warning[] {
  const count = results.reduce((sum, result) => sum + result.unconverged_fits, 0);
  return count === 0 ? [] : [notConverged(count, ticker)];
}

/** @param ticker undefined for pooled fits. */
export function notConverged(count: number, ticker?: string): Warning {
  const fits = ticker === undefined ? counted(count, "pooled fit") : `${ticker}: ${counted(count, "fit")}`;
  return {
    code: "not_converged",
    ...(ticker === undefined ? {} : { ticker }),
    count,
    message: `${fits} did not converge.`,
  };
}

/**
 * The importances of the last fit with their deviations over all fits.
 * @param fits in time order, at least one; undefined if its library has none.
 */
export function spreadImportances(
  fits: readonly (readonly Importance[] | undefined)[],
): SpreadImportance[] | undefined {
  const byFit = fits.map((fit) => new Map(fit?.map(({ feature, importance }) => [feature, importance])));
  return fits.at(-1)?.map(({ feature, importance }) => {
    const values = byFit.map((fit) => fit.get(feature) ?? Number.NaN);
    if (values.length < 2 || values.some(Number.isNaN)) return { feature, importance };
    return { feature, importance, spread: sampleDeviation(Float64Array.from(values)) };
  });
}

/** The importances of the first and of the last fit. @param blocks in time order; `names` of the columns. */
export function importancesOf(
  blocks: readonly Pick<BlockPredictions, "diagnosis" | "error">[],
  names: readonly string[],
): {
  readonly importances: readonly Importance[] | undefined;
  readonly lastImportances: readonly SpreadImportance[] | undefined;
} {
  const own = blocks
    .filter(({ error }) => error === undefined)
    .map(({ diagnosis }) =>
      diagnosis?.importances?.map(([column, importance]) => ({ feature: names[column]!, importance })),
    );
  return { importances: own[0], lastImportances: spreadImportances(own) };
}
