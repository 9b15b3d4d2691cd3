/** What the regressors of one ticker and of all tickers share: the fits on a matrix, and what follows from their predictions. */
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { readArray, removeArray } from "../../engine/npy.ts";
import type { RunOptions } from "../../engine/pool/pool.ts";
import type { Diagnosis, FitPredictResult, FitPredictTask } from "../../engine/pool/protocol.ts";
import { sampleDeviation } from "../../evaluate/statistics.ts";
import type { FitRun } from "../plan.ts";
import type { Importance } from "../shared/modelled-ticker.ts";
import { constantWarning, failedRefits } from "../shared/ticker-warnings.ts";

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

export interface FitResults {
  readonly folds: readonly FitPredictions[];
  readonly blocks: readonly BlockPredictions[];
}

export type RunTask = (
  fits: readonly (PlannedFit | BlockFit)[],
  signal?: AbortSignal,
) => Promise<readonly FitPredictions[]>;

/**
 * Runs all fits, the largest first, in tasks of `size` neighbours.
 * @param stopsEarly whether an error of a task ends the tasks after it in time order. That also ends the processes of their workers, which
 *   pays for long fits.
 * @returns the first error in time order of the fits, if one fails: which fails first depends on the number of workers.
 * @throws MucastError of the engine that is not about one task.
 */
export async function runFits(
  { folds, blocks: [first, ...later] }: MatrixFits,
  { size, stopsEarly = false }: { readonly size: number; readonly stopsEarly?: boolean },
  runTask: RunTask,
): Promise<MucastError | FitResults> {
  const run = stopAfterErrors(runTask, stopsEarly);
  const refits = runRefits(first, cutFits(later, size), run).catch(returnTaskError);
  const base = cutFits([...folds, first], size)
    .toReversed()
    .map((fits) => run(fits).catch(returnTaskError))
    .toReversed();
  try {
    const [results, refitted] = await Promise.all([Promise.all(base), refits]);
    const error = [...results, refitted].find((result) => result instanceof MucastError);
    if (error !== undefined) return error;
    const done = (results as (readonly FitPredictions[])[]).flat();
    const { block, train } = first;
    const own = { block, model: block, train, ...done.at(-1)! };
    return { folds: done.slice(0, -1), blocks: [own, ...(refitted as BlockPredictions[])] };
  } finally {
    await Promise.allSettled([...base, refits]);
  }
}

function cutFits<F>(fits: readonly F[], size: number): (readonly F[])[] {
  const tasks: (readonly F[])[] = [];
  for (let from = 0; from < fits.length; from += size) tasks.push(fits.slice(from, from + size));
  return tasks;
}

function isTaskError(error: unknown): error is MucastError {
  return error instanceof MucastError && ["fit_failed", "engine_crashed"].includes(error.code);
}

function returnTaskError(error: unknown): MucastError {
  if (isTaskError(error)) return error;
  throw error;
}

/**
 * Ends tasks whose results are of no use: an error of the job ends all, with `stopsEarly` one of a task those after it in time order, so that
 * it stays the first error. A failed refit ends none, because an earlier model replaces it.
 */
function stopAfterErrors(runTask: RunTask, stopsEarly: boolean): RunTask {
  const running = new Set<{ readonly from: number; readonly stop: AbortController }>();
  let end: { readonly from: number; readonly error: unknown } | undefined;
  return async (fits) => {
    const [fit] = fits;
    // Tasks predict ascending rows.
    const from = fit!.predict[0];
    if (end !== undefined && from > end.from) throw end.error;
    const own = { from, stop: new AbortController() };
    running.add(own);
    try {
      return await runTask(fits, own.stop.signal);
    } catch (error) {
      const isReplaced = "block" in fit! && fit.block > 0 && (error as MucastError).code === "fit_failed";
      if (!isTaskError(error) || (stopsEarly && !isReplaced)) {
        const after = isTaskError(error) ? from : Number.NEGATIVE_INFINITY;
        if (end === undefined || after < end.from) end = { from: after, error };
        for (const other of running) if (other.from > after) other.stop.abort(error);
      }
      throw error;
    } finally {
      running.delete(own);
    }
  };
}

/**
 * Runs the fits of the blocks after the first. If one cannot be trained, the last good model is fitted once more and predicts the rows of
 * the block. If it can be trained but fails on the rows that it predicts, that is an error: otherwise the model of a forecast would depend
 * on later rows of its block.
 * @param first the fit of the first block, which succeeds or ends all.
 * @throws MucastError fit_failed for the first fit in time order; errors of the engine.
 */
export async function runRefits(
  first: BlockFit,
  tasks: readonly (readonly BlockFit[])[],
  run: RunTask,
): Promise<BlockPredictions[]> {
  const returnFailedFit = (error: unknown): MucastError => {
    if (error instanceof MucastError && error.code === "fit_failed") return error;
    throw error;
  };
  // All end before one is retried: an engine fault ends the others.
  const started = tasks.toReversed().map((fits) => run(fits).catch(returnFailedFit));
  const ended = (await Promise.allSettled(started)).reverse();
  const done: BlockPredictions[] = [];
  for (const [i, fits] of tasks.entries()) {
    const result = ended[i]!;
    if (result.status === "rejected") throw result.reason;
    for (const [j, fit] of fits.entries()) {
      const { block, train } = fit;
      let own = result.value instanceof MucastError ? result.value : result.value[j]!;
      if (own instanceof MucastError && fits.length > 1)
        own = await run([fit]).then(([alone]) => alone!, returnFailedFit);
      if (own instanceof MucastError) {
        const { predict } = fit;
        const trained = await run([{ block, train, predict: [predict[0], predict[0]] }]).catch(
          returnFailedFit,
        );
        if (!(trained instanceof MucastError)) throw own;
        const last = done.at(-1) ?? { train: first.train, model: first.block };
        const [stand] = await run([{ ...fit, train: last.train }]);
        done.push({ ...stand!, block, model: last.model, train: last.train, error: own });
      } else done.push({ ...own, block, model: block, train });
    }
  }
  return done;
}

/** The tasks of the fits on one matrix. @param spec `onFit` is called once for each fit, even if the engine tries again. */
export function taskRunner(
  spec: Pick<FitRun, "signal"> & {
    readonly task: Omit<FitPredictTask, "label" | "fits" | "predictions">;
    readonly columns: readonly string[];
    readonly groups: number;
    labelOf(fit: PlannedFit | BlockFit): string;
    pathOf(task: number): string;
    /** The ticker and date of a row of the matrix. */
    placeOf(row: number): { readonly ticker: string; readonly day: Day };
    onFit(seconds: number): void;
    run(
      task: FitPredictTask,
      options: RunOptions<FitPredictTask>,
      fits: readonly PlannedFit[],
    ): Promise<FitPredictResult>;
  },
): RunTask {
  const { signal, columns, groups } = spec;
  const { permutation, ...common } = spec.task;
  const reported = new Set<string>();
  let tasks = 0;
  return async (fits, stop) => {
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
    const either = stop === undefined ? signal : AbortSignal.any([signal, stop]);
    const result = await spec.run(task, { signal: either, onProgress }, fits).catch((error: unknown) => {
      throw nameTooLarge(error, columns, spec.placeOf);
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

function nameTooLarge(
  error: unknown,
  columns: readonly string[],
  placeOf: (row: number) => { readonly ticker: string; readonly day: Day },
): unknown {
  if (!(error instanceof MucastError && error.data.too_large)) return error;
  const { too_large, ...data } = error.data;
  const { row, column, value } = too_large as { row: number; column: number; value: number };
  const { ticker, day } = placeOf(row);
  const what = `${columns[column]} of ${ticker} is ${value} on ${formatDay(day)}, too large for many models`;
  return new MucastError(error.code, `${error.message.replace(/\.$/, "")}; ${what}`, data);
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
