import { join } from "node:path";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { readArray } from "../../engine/inline-array.ts";
import { type ArrayRef, removeArray, writeNpy } from "../../engine/npy.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import type { FitPredictResult } from "../../engine/pool/protocol.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { datesOf, type PanelDates } from "../../panel/as-of.ts";
import type { Fold } from "../../panel/folds.ts";
import {
  fitLabels,
  forecastReturns,
  type PanelRows,
  type TickerPanel,
  targetsOf,
} from "../../panel/ticker-panel.ts";
import { type Listed, listedOfRows } from "../shared/listed-warnings.ts";
import { type RowFacts, rowFacts } from "../shared/row-facts.ts";
import type { ScoreRows } from "../shared/score-tables.ts";
import type { Importance } from "../shared/ticker-fits.ts";
import { constantWarning } from "../shared/ticker-warnings.ts";
import type { FitTimings } from "../shared/timings.ts";
import { cutFits, type FitPlan, listedOfFeatures, type PlannedFit, planWarnings } from "./plan-fits.ts";

/** The forecasts of one ticker, without the features that they were made from. */
export interface FittedTicker {
  readonly ticker: string;
  readonly dates: PanelDates;
  readonly folds: readonly Fold[];
  /** The fit rows, shape (n): their dates and labels. */
  readonly fit: { readonly days: Int32Array; readonly labels: Float64Array };
  /** Shape (sum of the folds' test rows): forecasts out of fold, in time order. */
  readonly outOfFold: Float64Array;
  readonly score: ScoreRows;
  readonly rows: RowFacts;
  /** Of the final fit, the largest first; absent where its library has none. */
  readonly importances?: readonly Importance[];
  readonly warnings: readonly Warning[];
  readonly listed: readonly Listed[];
}

export interface FitOptions {
  readonly settings: MlSettings;
  readonly pool: EnginePool;
  readonly workFolder: string;
  readonly signal: AbortSignal;
  /** The trial fit of the parameters; every fit starts once it is fulfilled. */
  readonly trial: Promise<unknown>;
  /** About how many tickers will come; it decides how finely their fits are cut. */
  readonly expectedTickers: number;
  readonly timings: FitTimings;
}

/**
 * Writes a ticker's matrix, drops the copy in memory (`fitTickers` says why), and fits the ticker.
 * @param index number of the ticker within the job: file names never hold a ticker's name.
 * @param onFit called after each fit, once, also where a worker dies and the engine tries again.
 * @returns the failure where the engine's error costs this ticker alone.
 * @throws MucastError output_failed, at once, where the work folder's disk is full; of the engine.
 */
export function fitTicker(
  panel: TickerPanel,
  plan: FitPlan,
  index: number,
  options: FitOptions,
  onFit: () => void,
): Promise<FittedTicker | Failure> {
  const matrix = writeTickerMatrix(panel, options.workFolder, index);
  const listed = listedOfFeatures(panel, options.settings);
  const { x: _, ...rows } = panel;
  return fitMatrix({ ...rows, listed }, matrix, plan, index, options, onFit);
}

/** A ticker's rows as the engine maps them: the fit rows followed by the score rows, both in date order. */
interface TickerMatrix {
  /** Shape (fit + score, k). */
  readonly x: ArrayRef;
  /** Shape (fit): targets. */
  readonly y: ArrayRef;
}

function writeTickerMatrix(panel: TickerPanel, workFolder: string, index: number): TickerMatrix {
  const k = panel.columns.length;
  const rows = [...panel.fit, ...panel.score];
  return {
    x: writeNpy(join(workFolder, `x${index}.npy`), rowsOf(panel.x, k, rows), [rows.length, k]),
    y: writeNpy(join(workFolder, `y${index}.npy`), fitTargets(panel), [panel.fit.length]),
  };
}

function fitTargets(panel: TickerPanel): Float64Array {
  const targets = targetsOf(panel);
  return Float64Array.from(panel.fit, (row) => targets[row]!);
}

/** @param x shape (m, k); @returns shape (rows, k), a view where the rows follow each other in x, which is so of most tickers. */
function rowsOf(x: Float64Array, k: number, rows: readonly number[]): Float64Array {
  const first = rows[0] ?? 0;
  if (rows.every((row, i) => row === first + i)) return x.subarray(first * k, (first + rows.length) * k);
  const taken = new Float64Array(rows.length * k);
  for (const [to, from] of rows.entries()) taken.set(x.subarray(from * k, (from + 1) * k), to * k);
  return taken;
}

/** A panel without its features, and what these show. */
type FitRows = PanelRows & { readonly listed: readonly Listed[] };

/** The task of a part of a ticker's fits, and the path that its predictions may have. */
interface StartedTask {
  readonly predictions: string;
  readonly result: Promise<FitPredictResult>;
}

async function fitMatrix(
  panel: FitRows,
  matrix: TickerMatrix,
  plan: FitPlan,
  index: number,
  options: FitOptions,
  onFit: () => void,
): Promise<FittedTicker | Failure> {
  const { settings, pool, workFolder, signal, timings } = options;
  const tasks: StartedTask[] = [];
  try {
    // It ends when the job is canceled, and `capacity` only with the attempt to reach a cluster.
    await options.trial;
    const { slots } = await pool.capacity;
    for (const [part, fits] of cutFits(plan.fits, options.expectedTickers, slots).entries()) {
      const predictions = join(workFolder, `p${index}-${part}.npy`);
      let told = 0;
      const result = pool.run(fitTask(panel.ticker, settings, matrix, fits, predictions), {
        signal,
        onProgress: ({ fit, seconds }) => {
          // A worker that dies may have told some; the second attempt tells them again.
          if (fit < told) return;
          told = fit + 1;
          timings.add(panel.ticker, seconds);
          onFit();
        },
      });
      tasks.push({ predictions, result });
    }
    const results = await Promise.all(tasks.map(({ result }) => result.catch(tickerError)));
    // The first error in time order: which one comes first by the clock depends on the number of workers.
    const error = results.find((result) => result instanceof MucastError);
    if (error) return { ticker: panel.ticker, code: error.code, message: error.message };
    const done = results as FitPredictResult[];
    const predicted = concatenate(done.map(({ predictions }) => readArray(predictions)));
    return fittedTicker(panel, plan.folds, done, predicted, settings);
  } finally {
    const ended = await Promise.allSettled(tasks.map(({ result }) => result));
    timings.finish(panel.ticker);
    const written = tasks.filter((_, part) => !isInline(ended[part]!)).map(({ predictions }) => predictions);
    for (const file of [matrix.x.ref, matrix.y.ref, ...written]) removeArray(file);
  }
}

/** Whether a task has handed over its predictions in its result, and no file. */
function isInline(ended: PromiseSettledResult<FitPredictResult>): boolean {
  return ended.status === "fulfilled" && "base64" in ended.value.predictions;
}

/** Codes of errors that cost one ticker and not the job. */
const TICKER_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["fit_failed", "engine_crashed"]);

/** An error that costs only its ticker. @throws any other. */
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

function fittedTicker(
  panel: FitRows,
  folds: readonly Fold[],
  results: readonly FitPredictResult[],
  predicted: Float64Array,
  settings: MlSettings,
): FittedTicker {
  const tested = folds.reduce((sum, fold) => sum + fold.testEnd - fold.testStart, 0);
  const { ticker, columns } = panel;
  const { constant, importances } = results.at(-1)!;
  const rows = rowFacts(panel);
  return {
    ...fittedRows(panel, predicted.subarray(tested)),
    folds,
    outOfFold: outOfFoldReturns(panel, folds, predicted),
    rows,
    ...(importances && {
      importances: importances.map(([column, importance]) => ({ feature: columns[column]!, importance })),
    }),
    warnings: [
      ...planWarnings(panel, folds, settings),
      ...(constant === undefined ? [] : [constantWarning(ticker, constant)]),
      ...convergenceWarnings(ticker, results),
    ],
    listed: [...listedOfRows(ticker, rows, folds), ...panel.listed],
  };
}

/** The fit and score rows of a ticker, with forecasts of returns. @param predicted shape (score): by the final model. */
export function fittedRows(
  panel: PanelRows,
  predicted: Float64Array,
): Pick<FittedTicker, "ticker" | "dates" | "fit" | "score"> {
  const { ticker, days, labelDays, y, volatility, fit, score } = panel;
  return {
    ticker,
    dates: datesOf(panel),
    fit: { days: Int32Array.from(fit, (row) => days[row]!), labels: fitLabels(panel) },
    score: {
      days: Int32Array.from(score, (row) => days[row]!),
      labels: Float64Array.from(score, (row) => y[row]!),
      labelDays: Int32Array.from(score, (row) => labelDays[row]!),
      volatility: Float64Array.from(score, (row) => volatility[row]!),
      predicted: forecastReturns(panel, score, predicted),
    },
  };
}

/** Forecasts of returns of each fold's test rows; its model learned from the labels known at the close of the first. */
function outOfFoldReturns(panel: FitRows, folds: readonly Fold[], predicted: Float64Array): Float64Array {
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
