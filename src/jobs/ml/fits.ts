/** What the regressors of one ticker and of all tickers share: the fits on a matrix, and what follows from their predictions. */
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { readArray, removeArray } from "../../engine/npy.ts";
import type { RunOptions } from "../../engine/pool/pool.ts";
import type { Diagnosis, FitPredictResult, FitPredictTask } from "../../engine/pool/protocol.ts";
import { outOfFoldMeans } from "../../evaluate/baselines.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { mean, rootMeanSquare, sampleDeviation } from "../../evaluate/statistics.ts";
import { datesOf } from "../../panel/as-of.ts";
import type { Fold } from "../../panel/folds.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import { fitLabels, forecastReturns, type PanelRows } from "../../panel/ticker-panel.ts";
import { constantWarning, failedRefits } from "../shared/job-warnings.ts";
import {
  forecastRows,
  heldOutPart,
  type Importance,
  joinRows,
  type ModelledTicker,
  rowFacts,
  type ScoreModel,
} from "../shared/modelled-ticker.ts";
import { runEach } from "../shared/run-concurrently.ts";

/** Half-open row range of a matrix, whose rows are those that some fit learns from, followed by the score rows. */
type RowRange = readonly [from: number, to: number];

export interface PlannedFit {
  readonly train: RowRange;
  readonly predict: RowRange;
  /** Also predicts its rows with features of random rows of this range, which contains them. */
  readonly pool?: RowRange;
}

export interface BlockFit extends PlannedFit {
  readonly block: number;
  /** The engine reports the importances of its features, and explains a constant forecast. */
  readonly diagnose: true;
}

/** All fits on one matrix, in time order. */
export interface MatrixFits {
  readonly folds: readonly PlannedFit[];
  readonly blocks: readonly [BlockFit, ...BlockFit[]];
}

export interface FitPredictions {
  readonly predicted: Float64Array;
  /** For each group of features: the same with the group shuffled; empty for a fit without `pool`. */
  readonly permuted: readonly Float64Array[];
  readonly diagnosis: Diagnosis | undefined;
  readonly result: FitPredictResult;
}

/** The predictions of the score rows of one block, and the model that made them. */
export interface BlockPredictions extends FitPredictions {
  readonly block: number;
  /** The block that the model was fitted for: an earlier one if the fit of this block failed. */
  readonly model: number;
  readonly train: RowRange;
  readonly error?: MucastError;
}

export type FitResults = Exclude<Awaited<ReturnType<typeof runFits>>, MucastError>;

export type RunTask = (
  fits: readonly (PlannedFit | BlockFit)[],
  signal: AbortSignal,
) => Promise<readonly FitPredictions[]>;

/**
 * Runs all fits, the largest first, in tasks of `size` neighbours. If the fit of a block after the first fails, the last good model is fitted
 * once more and predicts the rows of the block.
 * @returns the first error in time order of the fits, if another one fails: which fails first depends on the number of workers.
 * @throws MucastError of the engine that is not about one task; it ends all tasks.
 */
export async function runFits(
  { folds, blocks: [first, ...later] }: MatrixFits,
  size: number,
  outer: AbortSignal,
  runTask: RunTask,
) {
  const base = cutFits([...folds, first], size);
  const refits = cutFits(later, size);
  const run = (fits: readonly (PlannedFit & Partial<BlockFit>)[], signal = outer) =>
    runTask(fits, signal).catch((error: unknown) => {
      if (error instanceof MucastError && ["fit_failed", "engine_crashed"].includes(error.code)) return error;
      throw error;
    });
  const results = await runEach<MucastError | readonly FitPredictions[]>(outer, async (start, signal) => {
    for (const fits of [...base, ...refits].toReversed()) start(run(fits, signal));
  });
  const [done, refitted] = [results.splice(refits.length).reverse(), results.reverse()];
  const error = done.find((result) => result instanceof MucastError);
  if (error !== undefined) return error;
  const predicted = (done as (readonly FitPredictions[])[]).flat();
  const { block, train } = first;
  const blocks: BlockPredictions[] = [{ block, model: block, train, ...predicted.at(-1)! }];
  for (const [i, fits] of refits.entries()) {
    for (const [j, fit] of fits.entries()) {
      const { block, train } = fit;
      let own = refitted[i]!;
      if (own instanceof MucastError && fits.length > 1) own = await run([fit]);
      else if (!(own instanceof MucastError)) own = [own[j]!];
      if (own instanceof MucastError) {
        if (own.code === "engine_crashed") return own;
        // If it can be trained, its rows cannot be predicted: the model of a forecast would depend on later rows of its block.
        const { predict } = fit;
        const trained = await run([{ block, train, predict: [predict[0], predict[0]] }]);
        if (!(trained instanceof MucastError)) return own;
        if (trained.code === "engine_crashed") return trained;
        const { model, train: learned } = blocks.at(-1)!;
        const again = await run([{ ...fit, train: learned }]);
        if (again instanceof MucastError) return again;
        blocks.push({ ...again[0]!, block, model, train: learned, error: own });
      } else blocks.push({ ...own[0]!, block, model: block, train });
    }
  }
  return { folds: predicted.slice(0, -1), blocks };
}

function cutFits<F>(fits: readonly F[], size: number): (readonly F[])[] {
  const tasks = Array.from({ length: Math.ceil(fits.length / size) });
  return tasks.map((_, task) => fits.slice(task * size, (task + 1) * size));
}

/** The tasks of the fits on one matrix. @param spec `onFit` is called once for each fit, even if the engine tries again. */
export function taskRunner(spec: {
  readonly task: Omit<FitPredictTask, "label" | "fits" | "predictions">;
  readonly columns: readonly string[];
  readonly groups: number;
  labelOf(fit: PlannedFit | BlockFit): string;
  pathOf(task: number): string;
  /** The ticker and date of a row of the matrix. */
  placeOf(row: number): { readonly ticker: string; readonly day: Day };
  onFit(seconds: number): void;
  run(task: FitPredictTask, options: RunOptions<FitPredictTask>): Promise<FitPredictResult>;
}): RunTask {
  const { columns, groups } = spec;
  const { permutation, ...common } = spec.task;
  const reported = new Set<string>();
  let tasks = 0;
  return async (fits, signal) => {
    const ref = spec.pathOf(tasks++);
    const shuffles = permutation !== undefined && fits.some(({ pool }) => pool !== undefined);
    const task = {
      ...{ ...common, label: spec.labelOf(fits[0]!), fits, predictions: { ref } },
      ...(shuffles ? { permutation } : {}),
    };
    const onProgress = ({ fit, seconds }: { readonly fit: number; readonly seconds: number }) => {
      const own = fits[fit]!;
      const key = "block" in own ? `${own.block}` : own.predict.join();
      if (reported.has(key)) return;
      reported.add(key);
      spec.onFit(seconds);
    };
    const result = await spec.run(task, { signal, onProgress }).catch((error: unknown) => {
      if (!(error instanceof MucastError && error.data.too_large)) throw error;
      const { too_large, ...data } = error.data;
      const { row, column, value } = too_large as { row: number; column: number; value: number };
      const { ticker, day } = spec.placeOf(row);
      const what = `${columns[column]} of ${ticker} is ${value} on ${formatDay(day)}, too large for many models`;
      throw new MucastError(error.code, `${error.message.replace(/\.$/, "")}; ${what}`, data);
    });
    const predicted = splitPredictions(result, fits, groups);
    if (!("base64" in result.predictions)) removeArray(ref);
    return predicted;
  };
}

/** Predictions are those of all fits, then, fit by fit and group by group, those of its fits with `pool`. */
function splitPredictions(
  result: FitPredictResult,
  fits: readonly PlannedFit[],
  groups: number,
): FitPredictions[] {
  const values = readArray(result.predictions);
  let [at, diagnosed] = [0, 0];
  const take = ({ predict: [from, to] }: PlannedFit) => {
    const start = at;
    at += to - from;
    return values.subarray(start, at);
  };
  const own = fits.map((fit) => ({
    predicted: take(fit),
    diagnosis: "diagnose" in fit ? result.diagnoses[diagnosed++] : undefined,
    result,
  }));
  return own.map((fit, i) => {
    const shuffled = fits[i]!.pool === undefined ? 0 : groups;
    return { ...fit, permuted: Array.from({ length: shuffled }, () => take(fits[i]!)) };
  });
}

/**
 * The warnings about the models of all blocks: a constant forecast, fits that did not converge, failed refits.
 * @param ticker undefined for one model of all tickers.
 */
export function fitWarnings({ folds, blocks }: FitResults, name: string, ticker?: string): Warning[] {
  const own = ticker === undefined ? {} : { ticker };
  const isConstant = blocks.every(({ predicted }) => predicted.every((value) => value === predicted[0]));
  const constant = blocks.map(({ diagnosis }) => diagnosis?.constant).find((found) => found !== undefined);
  const results = new Set([...folds, ...blocks].map(({ result }) => result));
  const count = [...results].reduce((sum, result) => sum + result.unconverged_fits, 0);
  const fits = ticker === undefined ? counted(count, "pooled fit") : `${ticker}: ${counted(count, "fit")}`;
  const warnings: Warning[] = [];
  if (isConstant && constant !== undefined) {
    const { code, message } = constantWarning(name, constant);
    warnings.push({ code, ...own, message });
  }
  if (count > 0)
    warnings.push({ code: "not_converged", ...own, count, message: `${fits} did not converge.` });
  const failed = blocks.flatMap(({ block, predicted, error }) =>
    error === undefined ? [] : [{ block, rows: predicted.length, message: error.message }],
  );
  return [...warnings, ...failedRefits(failed, ticker)];
}

/**
 * The importances of the first fit, and of the last one with their deviations over all fits. Absent if its library has none.
 * @param names of the columns.
 */
export function importancesOf(
  blocks: readonly Pick<BlockPredictions, "diagnosis" | "error">[],
  names: readonly string[],
) {
  const fits = blocks
    .filter(({ error }) => error === undefined)
    .map(({ diagnosis }) =>
      diagnosis?.importances?.map(
        ([column, importance]): Importance => ({ feature: names[column]!, importance }),
      ),
    );
  const byFit = fits.map((fit) => new Map(fit?.map(({ feature, importance }) => [feature, importance])));
  const last = fits.at(-1)?.map(({ feature, importance }): Importance => {
    const values = byFit.map((fit) => fit.get(feature) ?? Number.NaN);
    if (values.length < 2 || values.some(Number.isNaN)) return { feature, importance };
    return { feature, importance, spread: sampleDeviation(Float64Array.from(values)) };
  });
  return { ...(fits[0] && { importances: fits[0] }), ...(last && { lastImportances: last }) };
}

/** A fold, as positions in a ticker's fit rows, and its first test date, at whose close the labels that its model learns are known. */
export type DatedFold = Fold & { readonly from: Day };

/** What models predict for the rows of a ticker, in units of the target. */
interface TickerPredictions {
  /** Shape (n), rows of the panel that models learn from. */
  readonly learn: Int32Array;
  readonly folds: readonly DatedFold[];
  readonly tested: readonly Pick<FitPredictions, "predicted" | "permuted">[];
  /** In time order; `train` are positions in `learn`. */
  readonly scored: readonly BlockPredictions[];
}

export function forecastTicker(
  panel: PanelRows,
  { learn, folds, tested, scored }: TickerPredictions,
  blocks: readonly RefitBlock[],
  about: Pick<ModelledTicker, "warnings" | "listed" | "importances" | "lastImportances">,
): ModelledTicker {
  const { ticker, fit, score, days, y, joins } = panel;
  const labels = fitLabels(panel);
  const parts = folds.map(({ testStart, testEnd }) => fit.subarray(testStart, testEnd));
  const outOfFold = joinRows(
    folds.map(({ from }, f) => forecastRows(panel, parts[f]!, tested[f]!.predicted, from)),
  );
  const heldOut = heldOutPart(ticker, outOfFold, outOfFoldMeans(labels, folds), labels);
  let at = 0;
  const models = scored.map(({ block, train, predicted, error }): ScoreModel => {
    const from = at;
    at += predicted.length;
    const learned = Float64Array.from(learn.subarray(...train), (row) => y[row]!);
    const labelMean = learned.length === 0 ? 0 : mean(learned);
    return { block, from, to: at, fitRows: learned.length, labelMean, isStandIn: error !== undefined };
  });
  const scores = scored.map((own, m) => {
    const { from, to } = models[m]!;
    return forecastRows(panel, score.subarray(from, to), own.predicted, blocks[own.model]!.known);
  });
  const [first] = folds;
  const permuted = tested[0]?.permuted.map((_, g) =>
    concatenate(folds.map(({ from }, f) => forecastReturns(panel, parts[f]!, tested[f]!.permuted[g]!, from))),
  );
  return {
    ...about,
    ticker,
    dates: datesOf(panel),
    ...(joins === undefined ? {} : { joins }),
    fitDays: fit.map((row) => days[row]!),
    fitLabels: labels,
    score: joinRows(scores),
    ...{ folds, heldOut, residuals: heldOut, tested: [heldOut], models },
    unit: first ? rootMeanSquare(labels.subarray(first.trainStart, first.trainEnd)) ** 2 : 0,
    ...(permuted?.length ? { permuted } : {}),
    rows: rowFacts(panel),
  };
}
