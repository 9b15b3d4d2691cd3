import { join } from "node:path";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { type ArrayRef, readArray, removeArray, writeNpy } from "../../engine/npy.ts";
import type { FitPredictResult, FitProgress } from "../../engine/pool/protocol.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import { type TickerPanel, targetsOf } from "../../panel/ticker-panel.ts";
import type { FitTimings } from "../shared/timings.ts";
import type { FitPool } from "./candidates/shared-fits.ts";
import { type FitRows, type FittedTicker, fittedTicker } from "./fitted-ticker.ts";
import type { FeatureGroup } from "./importance/feature-groups.ts";
import { permutationOf } from "./importance/permuted-predictions.ts";
import { withKnownRows } from "./importance/replacement-rows.ts";
import { cutFits, type FitPlan, fitsPerTask, listedOfFeatures, type PlannedFit } from "./plan-fits.ts";
import { type BlockPredictions, runRefits } from "./run-refits.ts";

export interface FitOptions {
  readonly settings: MlSettings;
  readonly pool: FitPool;
  readonly workFolder: string;
  readonly signal: AbortSignal;
  /** The trial fit of the parameters; every fit waits until it succeeds. */
  readonly trial: Promise<unknown>;
  /** The approximate number of tickers, which decides how finely their fits are divided into tasks. */
  readonly expectedTickers: number;
  /** The blocks of score rows; absent without refits. */
  readonly blocks?: readonly RefitBlock[];
  /** The groups of features that every fold shuffles; absent without `importance`. */
  readonly groups?: readonly FeatureGroup[];
  readonly timings: FitTimings;
}

/**
 * Writes a ticker's matrix, drops the copy in memory (`fitTickers` explains why), and fits the ticker.
 * @param index number of the ticker within the job; file names never contain a ticker's name.
 * @param onFit called once after each fit, even if a worker dies and the engine tries again.
 * @returns the failure if the engine's error affects only this ticker.
 * @throws MucastError output_failed, at once, if the work folder's disk is full; errors of the engine.
 */
export function fitTicker(
  panel: TickerPanel,
  plan: FitPlan,
  index: number,
  options: FitOptions,
  onFit: () => void,
): Promise<FittedTicker | Failure> {
  const matrix = writeTickerMatrix(panel, plan, options.workFolder, index);
  const listed = listedOfFeatures(panel, options.settings);
  const { x: _, ...rows } = panel;
  return fitMatrix({ ...rows, listed }, matrix, plan, index, options, onFit);
}

function writeTickerMatrix(
  panel: TickerPanel,
  { learn }: FitPlan,
  workFolder: string,
  index: number,
): TickerMatrix {
  const k = panel.columns.length;
  const rows = [...learn, ...panel.score];
  const targets = targetsOf(panel);
  const y = Float64Array.from(learn, (row) => targets[row]!);
  return {
    x: writeNpy(join(workFolder, `x${index}.npy`), rowsOf(panel.x, k, rows), [rows.length, k]),
    y: writeNpy(join(workFolder, `y${index}.npy`), y, [learn.length]),
  };
}

/** @param x shape (m, k); @returns shape (rows, k), a view if the rows are consecutive in x, as for most tickers. */
function rowsOf(x: Float64Array, k: number, rows: readonly number[]): Float64Array {
  const first = rows[0] ?? 0;
  if (rows.every((row, i) => row === first + i)) return x.subarray(first * k, (first + rows.length) * k);
  const selected = new Float64Array(rows.length * k);
  for (const [to, from] of rows.entries()) selected.set(x.subarray(from * k, (from + 1) * k), to * k);
  return selected;
}

async function fitMatrix(
  panel: FitRows,
  matrix: TickerMatrix,
  plan: FitPlan,
  index: number,
  options: FitOptions,
  onFit: () => void,
): Promise<FittedTicker | Failure> {
  const { pool, expectedTickers, timings, trial, groups } = options;
  const tasks = tickerTasks(panel, matrix, index, plan, options, onFit);
  let refits: Promise<MucastError | BlockPredictions[]> | undefined;
  try {
    // It ends when the job is canceled; `capacity` ends only with the attempt to reach a cluster.
    await trial;
    const { slots } = await pool.capacity;
    const size = fitsPerTask(plan.fits.length + plan.refits.length, expectedTickers, slots);
    const fits = groups === undefined ? plan.fits : plan.fits.map(withKnownRows);
    const parts = cutFits(fits, size);
    const base = parts.map((fits) => tasks.run(fits).catch(tickerError));
    const first = { ...plan.fits.at(-1)!, block: plan.first };
    refits = runRefits(first, cutFits(plan.refits, size), async (fits) => {
      const result = await tasks.run(fits);
      return { result, predicted: readArray(result.predictions) };
    }).catch(tickerError);
    const [results, refitted] = await Promise.all([Promise.all(base), refits]);
    // The first error in time order of the fits: which error occurs first depends on the number of workers.
    const error = [...results, refitted].find((result) => result instanceof MucastError);
    if (error) return failureOf(panel, error, error !== refitted);
    const done = {
      fits: (results as FitPredictResult[]).map((result, i) => ({ result, fits: parts[i]! })),
      refits: refitted as BlockPredictions[],
    };
    return fittedTicker(panel, plan, done, options);
  } finally {
    await refits?.catch(() => undefined);
    await tasks.close();
    timings.finish(panel.ticker);
    for (const { ref } of [matrix.x, matrix.y]) removeArray(ref);
  }
}

/** @param isFirst whether the error comes from no refit. A late ticker has no folds, so it then comes from its first fit. */
function failureOf(
  { ticker, joins }: Pick<FitRows, "ticker" | "joins">,
  { code, message }: MucastError,
  isFirst: boolean,
): Failure {
  if (joins === undefined || !isFirst) return { ticker, code, message };
  return {
    ticker,
    code,
    message: `${message} (the first fit of this late ticker, for the block from ${formatDay(joins)})`,
  };
}

/**
 * Adds to the error of a failed fit which value of its rows is too large for many libraries, if there is one.
 * @param at the ticker and date of a row of the matrix.
 */
export function namingTooLarge(
  fitted: Promise<FitPredictResult>,
  columns: readonly string[],
  at: (row: number) => { readonly ticker: string; readonly day: Day },
): Promise<FitPredictResult> {
  return fitted.catch((error: unknown) => {
    if (!(error instanceof MucastError && error.data.too_large)) throw error;
    const { too_large, ...data } = error.data;
    const { row, column, value } = too_large as { row: number; column: number; value: number };
    const { ticker, day } = at(row);
    const what = `${columns[column]} of ${ticker} is ${value} on ${formatDay(day)}, too large for many models`;
    throw new MucastError(error.code, `${error.message.replace(/\.$/, "")}; ${what}`, data);
  });
}

/** Codes of errors that affect one ticker and not the job. */
const TICKER_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["fit_failed", "engine_crashed"]);

/** Returns an error that affects only its ticker. @throws any other. */
function tickerError(error: unknown): MucastError {
  if (error instanceof MucastError && TICKER_CODES.has(error.code)) return error;
  throw error;
}

/** A ticker's rows as the engine maps them: those that some fit learns from, followed by the score rows, both in date order. */
interface TickerMatrix {
  /** Shape (learn + score, k). */
  readonly x: ArrayRef;
  /** Shape (learn): targets. */
  readonly y: ArrayRef;
}

/**
 * The tasks of one ticker's fits. @param onFit called once after each fit of the plan, even if a worker dies and the engine tries again.
 */
function tickerTasks(
  { ticker, columns, days, score }: FitRows,
  matrix: TickerMatrix,
  index: number,
  { learn, fits: base, refits }: FitPlan,
  { settings, pool, workFolder, signal, timings, groups }: FitOptions,
  onFit: () => void,
) {
  /** Each with the path that its predictions may use. */
  const started: { readonly path: string; readonly result: Promise<FitPredictResult> }[] = [];
  /** The fits that were not reported yet, keyed by the rows that they predict: a retried fit is reported once. */
  const untold = new Set([...base, ...refits].map(predictedRows));
  const rows = [...learn, ...score];
  const placeOf = (row: number) => ({ ticker, day: days[rows[row]!]! });

  function run(fits: readonly PlannedFit[]): Promise<FitPredictResult> {
    const path = join(workFolder, `p${index}-${started.length}.npy`);
    const task = {
      ...fitTask(ticker, settings, matrix, fits, path),
      ...(groups && { permutation: permutationOf(groups, columns, ticker) }),
    };
    const onProgress = ({ fit, seconds }: FitProgress) => {
      // A worker that dies may have reported some; the second attempt reports them again.
      if (!untold.delete(predictedRows(fits[fit]!))) return;
      timings.add(ticker, seconds);
      onFit();
    };
    const result = namingTooLarge(pool.run(task, { signal, onProgress }), columns, placeOf);
    started.push({ path, result });
    return result;
  }

  /** Waits for all of them, and removes the files that they wrote. */
  async function close(): Promise<void> {
    const ended = await Promise.allSettled(started.map(({ result }) => result));
    for (const [i, { path }] of started.entries()) if (!isInline(ended[i]!)) removeArray(path);
  }

  return { run, close };
}

/** Whether a task returned its predictions in its result, without a file. */
function isInline(ended: PromiseSettledResult<FitPredictResult>): boolean {
  return ended.status === "fulfilled" && "base64" in ended.value.predictions;
}

function predictedRows({ predict }: PlannedFit): string {
  return predict.join(" ");
}

function fitTask(
  ticker: string,
  settings: MlSettings,
  { x, y }: TickerMatrix,
  fits: readonly PlannedFit[],
  predictions: string,
) {
  const { estimator, scaler } = settings;
  return {
    task: "fit_predict",
    label: ticker,
    estimator,
    scaler,
    x,
    y,
    fits,
    predictions: { ref: predictions },
  } as const;
}
