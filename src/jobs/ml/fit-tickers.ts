import { rmSync } from "node:fs";
import { join } from "node:path";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { compareCodePoints } from "../../contract/data/code-points.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Warning } from "../../contract/errors/warnings.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { Failure } from "../../contract/output/output-blob.ts";
import { readNpy } from "../../engine/npy.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import type { FitPredictResult } from "../../engine/pool/protocol.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { datesOf, type PanelDates } from "../../panel/as-of.ts";
import type { Fold } from "../../panel/folds.ts";
import type { PanelRows, TickerPanel } from "../../panel/ticker-panel.ts";
import type { ScoreRows } from "../shared/score-tables.ts";
import { constantWarning } from "../shared/ticker-warnings.ts";
import type { FitTimings } from "../shared/timings.ts";
import { labelsOf, type TickerMatrix, writeTickerMatrix } from "./fit-ticker.ts";
import { cutFits, type PlannedFit, planFits, planWarnings, refusedColumns } from "./plan-fits.ts";

/** What fitting one ticker gave, its matrix let go. */
export interface FittedTicker {
  readonly ticker: string;
  readonly dates: PanelDates;
  readonly folds: readonly Fold[];
  /** The fit rows, shape (n): their dates and labels. */
  readonly fit: { readonly days: Int32Array; readonly labels: Float64Array };
  /** Shape (sum of the folds' test rows): forecasts out of fold, in time order. */
  readonly outOfFold: Float64Array;
  readonly score: ScoreRows;
  readonly warnings: readonly Warning[];
}

export interface FitOutcome {
  /** Ascending by code point. */
  readonly fitted: readonly FittedTicker[];
  readonly failures: readonly Failure[];
}

export interface FitOptions {
  readonly settings: MlSettings;
  readonly pool: EnginePool;
  readonly workers: number;
  readonly workFolder: string;
  readonly signal: AbortSignal;
  /** Fits start once this is fulfilled: the trial fit of the parameters. */
  readonly ready: Promise<unknown>;
  /** About how many tickers will come; it decides how finely their fits are cut. */
  readonly expectedTickers: number;
  readonly timings: FitTimings;
  readonly onFits: (progress: { done: number; planned: number; complete: boolean }) => void;
}

/** Codes of errors that cost one ticker and not the job. */
const TICKER_CODES = new Set(["fit_failed", "engine_crashed"]);

/**
 * Fits every ticker while the others are still being read. A ticker that fails is listed and the others go on.
 * @throws MucastError of the reading, and of the engine where it is not about one ticker.
 */
export async function fitTickers(
  panels: AsyncIterable<TickerPanel | Failure>,
  options: FitOptions,
): Promise<FitOutcome> {
  const progress = { done: 0, planned: 0, complete: false };
  const failures: Failure[] = [];
  const running: Promise<FittedTicker | Failure>[] = [];
  const stop = new AbortController();
  const inner = { ...options, signal: AbortSignal.any([options.signal, stop.signal]) };
  const tell = () => options.onFits(progress);
  try {
    for await (const panel of panels) {
      inner.signal.throwIfAborted();
      const failure = "code" in panel ? undefined : refusedColumns(panel, options.settings);
      if ("code" in panel) failures.push(panel);
      else if (failure !== undefined) failures.push(failure);
      else running.push(startTicker(panel, running.length, inner, progress, tell));
      running.at(-1)?.catch((error: unknown) => stop.abort(error));
    }
    progress.complete = true;
    tell();
    const results = await Promise.all(running);
    options.timings.endAll();
    return sortOutcome(results, failures);
  } catch (error) {
    stop.abort(error);
    throw error;
  } finally {
    await Promise.allSettled(running);
  }
}

function sortOutcome(results: readonly (FittedTicker | Failure)[], early: readonly Failure[]): FitOutcome {
  const byTicker = (a: { ticker: string }, b: { ticker: string }) => compareCodePoints(a.ticker, b.ticker);
  const fitted: FittedTicker[] = [];
  const failures = [...early];
  for (const result of results) {
    if ("code" in result) failures.push(result);
    else fitted.push(result);
  }
  return { fitted: fitted.sort(byTicker), failures: failures.sort(byTicker) };
}

function startTicker(
  { x, ...rest }: TickerPanel,
  index: number,
  options: FitOptions,
  progress: { done: number; planned: number },
  tell: () => void,
): Promise<FittedTicker | Failure> {
  const matrix = writeTickerMatrix({ x, ...rest }, options.workFolder, index);
  return fitTicker(rest, matrix, index, options, progress, tell);
}

async function fitTicker(
  panel: PanelRows,
  matrix: TickerMatrix,
  index: number,
  options: FitOptions,
  progress: { done: number; planned: number },
  tell: () => void,
): Promise<FittedTicker | Failure> {
  const { settings, pool, workers, workFolder, signal, timings } = options;
  const plan = planFits(panel.fit.length, panel.score.length, settings.cvTestSize, settings.nSplits);
  progress.planned += plan.fits.length;
  const files = [matrix.x.ref, matrix.y.ref];
  const tasks = cutFits(plan.fits, options.expectedTickers, workers).map(async (fits, part) => {
    const predictions = join(workFolder, `p${index}-${part}.npy`);
    files.push(predictions);
    await options.ready;
    return pool.run(fitTask(panel.ticker, settings, matrix, fits, predictions), {
      signal,
      onProgress: ({ seconds }) => {
        timings.add(panel.ticker, seconds);
        progress.done++;
        tell();
      },
    });
  });
  try {
    const results = await Promise.all(tasks.map((task) => task.catch(tickerError)));
    // The first in time order, not the first to be told: that one depends on the number of workers.
    const error = results.find((result) => result instanceof MucastError);
    if (error) return { ticker: panel.ticker, code: error.code, message: error.message };
    return fittedTicker(panel, plan.folds, results as FitPredictResult[], settings);
  } finally {
    await Promise.allSettled(tasks);
    timings.end(panel.ticker);
    for (const file of files) rmSync(file, { force: true });
  }
}

/** An error that costs only its ticker; any other is thrown on. */
function tickerError(error: unknown): MucastError {
  if (error instanceof MucastError && TICKER_CODES.has(error.code)) return error;
  throw error;
}

function fitTask(
  ticker: string,
  settings: MlSettings,
  { x, y }: TickerMatrix,
  fits: readonly PlannedFit[],
  predictions: string,
) {
  const { estimator } = settings;
  return {
    task: "fit_predict",
    label: ticker,
    estimator,
    scaler: settings.scaler,
    x,
    y,
    fits,
    predictions: { ref: predictions },
  } as const;
}

function fittedTicker(
  panel: PanelRows,
  folds: readonly Fold[],
  results: readonly FitPredictResult[],
  settings: MlSettings,
): FittedTicker {
  const predicted = concatenate(results.map((result) => readNpy(result.predictions)));
  const tested = folds.reduce((sum, fold) => sum + fold.testEnd - fold.testStart, 0);
  const { ticker, days } = panel;
  const constant = results.at(-1)?.constant;
  return {
    ticker,
    dates: datesOf(panel),
    folds,
    fit: { days: Int32Array.from(panel.fit, (row) => days[row]!), labels: labelsOf(panel) },
    outOfFold: predicted.subarray(0, tested),
    score: {
      days: Int32Array.from(panel.score, (row) => days[row]!),
      labels: Float64Array.from(panel.score, (row) => panel.y[row]!),
      predicted: predicted.subarray(tested),
    },
    warnings: [
      ...planWarnings(panel, folds.length, settings),
      ...(constant === undefined ? [] : [constantWarning(ticker, constant)]),
      ...convergenceWarnings(ticker, results),
    ],
  };
}

function convergenceWarnings(ticker: string, results: readonly FitPredictResult[]): Warning[] {
  const count = results.reduce((sum, result) => sum + result.unconverged_fits, 0);
  if (count === 0) return [];
  return [
    {
      code: "not_converged",
      ticker,
      count,
      message: `${ticker}: ${counted(count, "fit")} did not converge.`,
    },
  ];
}
