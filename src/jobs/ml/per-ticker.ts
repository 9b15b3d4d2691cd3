import { join } from "node:path";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { readArray } from "../../engine/inline-array.ts";
import { removeArray, writeNpy } from "../../engine/npy.ts";
import type { FitPredictResult, FitPredictTask } from "../../engine/pool/protocol.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { walkForwardFolds } from "../../panel/folds.ts";
import { firstBlock, ONE_BLOCK, type RefitBlock, tickerBlocks } from "../../panel/refit-blocks.ts";
import { type PanelRows, type TickerPanel, targetsOf } from "../../panel/ticker-panel.ts";
import type { FitOutcome, FitPlan, FitRun, PlannedTicker } from "../plan.ts";
import { lateTicker, listedOfRows } from "../shared/listed-warnings.ts";
import { rowFacts } from "../shared/modelled-ticker.ts";
import { type FitPanel, loadPanel } from "../shared/panels.ts";
import { runEach } from "../shared/run-concurrently.ts";
import { estimateFits } from "./fit-estimates.ts";
import type { BlockPredictions, PlannedFit, PlannedRefit } from "./fits.ts";
import { fitWarnings, importancesOf, nameTooLarge, runRefits, splitPredictions } from "./fits.ts";
import { type DatedFold, type FittedTicker, forecastTicker } from "./fitted-ticker.ts";
import {
  type FeatureGroup,
  groupFeatures,
  permutationOf,
  withKnownRows,
} from "./importance/feature-groups.ts";
import { importanceOf } from "./importance/importance-output.ts";
import { listedOfFeatures, plannedTicker, planWarnings, refusedColumns } from "./plan-warnings.ts";

/** All fits of one ticker, in time order, as rows of its matrix. */
interface TickerFits {
  readonly folds: readonly DatedFold[];
  /** The fits of these folds, then that of the ticker's first block. */
  readonly fits: readonly PlannedFit[];
  readonly first: PlannedRefit;
  /** The fits of the later blocks in which the ticker has score rows. */
  readonly refits: readonly PlannedRefit[];
  /** Shape (n), rows of the panel: those that the fits learn from, which are the first rows of the matrix. */
  readonly learn: Int32Array;
}

/** Plans the fits of a ticker, which learn from its `fit` rows and predict its `score` rows. A late ticker has no folds. */
export function planFits(
  panel: Pick<PanelRows, "days" | "labelDays" | "y" | "relative" | "fit" | "score" | "joins">,
  settings: Pick<MlSettings, "cvTestSize" | "nSplits" | "delay" | "window">,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
): TickerFits {
  const { fit, days, labelDays } = panel;
  const { window = Number.POSITIVE_INFINITY } = settings;
  const own = tickerBlocks(panel, blocks);
  const { learn } = own;
  const known = { days: fit.map((row) => days[row]!), labelDays: fit.map((row) => labelDays[row]!) };
  const folds = (panel.joins === undefined ? walkForwardFolds(known, settings) : []).map((fold) => ({
    ...fold,
    from: known.days[fold.testStart]!,
  }));
  const planned = own.blocks.map(
    ({ learnEnd, scoreStart, scoreEnd }, block): PlannedRefit => ({
      block,
      train: [Math.max(0, learnEnd - window), learnEnd],
      predict: [learn.length + scoreStart, learn.length + scoreEnd],
      diagnose: true,
    }),
  );
  const [first, ...later] = planned.slice(firstBlock(panel, blocks)) as [PlannedRefit, ...PlannedRefit[]];
  const { block: _, ...firstFit } = first;
  const tests = folds.map(
    ({ trainStart, trainEnd, testStart, testEnd }): PlannedFit => ({
      train: [trainStart, trainEnd],
      predict: [testStart, testEnd],
    }),
  );
  const refits = later.filter(({ predict: [from, to] }) => from < to);
  return { folds, fits: [...tests, firstFit], first, refits, learn };
}

/** One regressor per ticker and block. */
export function planPerTicker(
  panels: readonly FitPanel[],
  settings: MlSettings,
  blocks: readonly RefitBlock[],
): FitPlan<FittedTicker> {
  const tickers: PlannedTicker[] = [];
  const failures: Failure[] = [];
  const sizes: { readonly rows: number; readonly columns: number }[] = [];
  for (const panel of panels) {
    // The prices of a late ticker may end before it joins.
    if (panel.joins !== undefined && panel.score.length === 0) continue;
    const refused = refusedColumns(panel, settings);
    if (refused !== undefined) {
      failures.push(refused);
      continue;
    }
    const { folds, fits, refits } = planFits(panel, settings, blocks);
    const listed = [...listedOfPlan(panel, folds, settings), ...panel.listed];
    tickers.push(plannedTicker(panel, folds, settings, listed));
    for (const {
      train: [from, to],
    } of [...fits, ...refits])
      sizes.push({ rows: to - from, columns: panel.columns.length });
  }
  return {
    ...{ tickers, failures, fits: sizes.length, steps: sizes.length },
    estimate: estimateFits(settings, sizes),
    async collect(run) {
      const groups = settings.importance ? groupFeatures(panels, false) : undefined;
      const load = function* () {
        for (const panel of panels)
          if (panel.joins === undefined || panel.score.length > 0) yield loadPanel(panel, run.isLast);
      };
      const outcome = await fitTickers(load, { ...run, settings, blocks, ...(groups && { groups }) });
      return { ...outcome, ...(groups && { importance: importanceOf(outcome.tickers, groups) }) };
    },
  };
}

function listedOfPlan(panel: PanelRows, folds: readonly DatedFold[], { window }: MlSettings) {
  const facts = rowFacts(panel);
  const fitRows = Math.min(facts.fitRows, window ?? facts.fitRows);
  return [...listedOfRows(panel.ticker, { ...facts, fitRows }, folds), ...lateTicker(panel)];
}

export interface TickerOptions extends FitRun {
  readonly settings: MlSettings;
  readonly blocks: readonly RefitBlock[];
  /** The groups of features that every fold shuffles; absent without `importance`. */
  readonly groups?: readonly FeatureGroup[];
}

/**
 * Fits every ticker while the job still reads the others. A ticker that fails is listed and the others go on. Each ticker's matrix is a
 * file, which the engine maps, and the copy in this process is dropped at once: the reader is faster than the engine, so thousands of
 * tickers wait for a worker, and their matrices together would keep the whole feature blob in memory.
 * @param read starts the reading; its signal aborts if the engine fails, so that a stalled blob does not delay that error.
 * @throws MucastError errors of the reading, and errors of the engine that are not about one ticker.
 */
export async function fitTickers(
  read: (signal: AbortSignal) => AsyncIterable<TickerPanel | Failure> | Iterable<TickerPanel | Failure>,
  options: TickerOptions,
): Promise<FitOutcome<FittedTicker>> {
  const { settings, blocks, report } = options;
  let [done, planned, isComplete] = [0, 0, false];
  const progress = () =>
    report({ kind: "progress", stage: "fit", done, ...(isComplete ? { total: planned } : {}) });
  const failures: Failure[] = [];
  const results = await runEach<FittedTicker | Failure>(options.signal, async (start, signal) => {
    let index = 0;
    for await (const panel of read(signal)) {
      signal.throwIfAborted();
      const refused = "code" in panel ? panel : refusedColumns(panel, settings);
      if ("code" in panel || refused !== undefined) {
        failures.push(refused!);
        continue;
      }
      const plan = planFits(panel, settings, blocks);
      planned += plan.fits.length + plan.refits.length;
      const fit = new TickerFit(panel, plan, index++, { ...options, signal }, () => {
        done++;
        progress();
      });
      start(fit.run());
    }
    isComplete = true;
    progress();
  });
  options.timings.finishAll();
  const byTicker = (a: { ticker: string }, b: { ticker: string }) => compareCodePoints(a.ticker, b.ticker);
  failures.push(...results.filter(isFailure));
  const tickers = results.filter((result): result is FittedTicker => !isFailure(result)).sort(byTicker);
  return { tickers, failures: failures.sort(byTicker), warnings: [], listed: [] };
}

function isFailure(result: FittedTicker | Failure): result is Failure {
  return "code" in result;
}

/** Codes of errors that affect one ticker and not the job. */
const TICKER_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["fit_failed", "engine_crashed"]);

function returnTickerError(error: unknown): MucastError {
  if (error instanceof MucastError && TICKER_CODES.has(error.code)) return error;
  throw error;
}

/** The tasks of one ticker's fits, on its matrix in the work folder. */
class TickerFit {
  readonly #panel: PanelRows;
  readonly #listed: FittedTicker["listed"];
  readonly #plan: TickerFits;
  readonly #options: TickerOptions;
  readonly #task: Omit<FitPredictTask, "fits" | "predictions">;
  readonly #onFit: () => void;
  readonly #name: string;
  /** Each with the path that its predictions may use. */
  readonly #started: { readonly path: string; readonly result: Promise<FitPredictResult> }[] = [];
  /** The rows that fits predict which were not reported yet: a worker that dies may have reported some, and the second attempt repeats them. */
  readonly #unreported: Set<string>;

  /**
   * @param name number of the ticker within the job: file names never contain a ticker's name.
   * @param onFit called once after each fit. @throws MucastError output_failed if the work folder's disk is full.
   */
  constructor(
    { x, ...panel }: TickerPanel,
    plan: TickerFits,
    name: number,
    options: TickerOptions,
    onFit: () => void,
  ) {
    const { settings, workFolder, groups } = options;
    const { learn } = plan;
    const { ticker, columns, score } = panel;
    const rows = [...learn, ...score];
    const targets = targetsOf(panel);
    const y = Float64Array.from(learn, (row) => targets[row]!);
    const k = columns.length;
    this.#panel = panel;
    this.#plan = plan;
    this.#options = options;
    this.#onFit = onFit;
    this.#name = String(name);
    this.#unreported = new Set([...plan.fits, ...plan.refits].map(({ predict }) => predict.join()));
    this.#listed = [
      ...listedOfPlan(panel, plan.folds, settings),
      ...listedOfFeatures({ ...panel, x }, settings),
    ];
    this.#task = {
      task: "fit_predict",
      label: ticker,
      estimator: settings.estimator,
      scaler: settings.scaler,
      x: writeNpy(join(workFolder, `x${name}.npy`), selectRows(x, k, rows), [rows.length, k]),
      y: writeNpy(join(workFolder, `y${name}.npy`), y, [learn.length]),
      ...(groups && { permutation: permutationOf(groups, columns, ticker) }),
    };
  }

  /** @returns the failure if the engine's error affects only this ticker. @throws MucastError other errors of the engine. */
  async run(): Promise<FittedTicker | Failure> {
    const { pool, expectedTickers, timings, device, groups } = this.#options;
    const { fits, first, refits } = this.#plan;
    const { ticker } = this.#panel;
    let refitted: Promise<MucastError | BlockPredictions[]> | undefined;
    try {
      // It ends when the job is canceled; `capacity` ends only with the attempt to reach a cluster.
      await device;
      const { slots } = await pool.capacity;
      const size = fitsPerTask(fits.length + refits.length, expectedTickers, slots);
      const parts = cutFits(groups === undefined ? fits : fits.map(withKnownRows), size);
      const base = parts.map((own) => this.#start(own).catch(returnTickerError));
      refitted = runRefits(first, cutFits(refits, size), async (own) => {
        const result = await this.#start(own);
        return { result, predicted: readArray(result.predictions) };
      }).catch(returnTickerError);
      const [results, later] = await Promise.all([Promise.all(base), refitted]);
      // The first error in time order of the fits: which error occurs first depends on the number of workers.
      const error = [...results, later].find((result) => result instanceof MucastError);
      if (error !== undefined) return { ticker, code: error.code, message: error.message };
      return this.#forecasts(parts, results as FitPredictResult[], later as BlockPredictions[]);
    } finally {
      await refitted?.catch(() => undefined);
      const ended = await Promise.allSettled(this.#started.map(({ result }) => result));
      for (const [i, { path }] of this.#started.entries()) {
        const own = ended[i]!;
        if (own.status === "rejected" || !("base64" in own.value.predictions)) removeArray(path);
      }
      timings.finish(ticker);
      for (const { ref } of [this.#task.x, this.#task.y]) removeArray(ref);
    }
  }

  #start(fits: readonly PlannedFit[]): Promise<FitPredictResult> {
    const { pool, workFolder, signal, timings } = this.#options;
    const { ticker, columns, days, score } = this.#panel;
    const path = join(workFolder, `p${this.#name}-${this.#started.length}.npy`);
    const task = { ...this.#task, fits, predictions: { ref: path } };
    const onProgress = ({ fit, seconds }: { readonly fit: number; readonly seconds: number }) => {
      if (!this.#unreported.delete(fits[fit]!.predict.join())) return;
      timings.add(ticker, seconds);
      this.#onFit();
    };
    const dayOf = (row: number) => days[[...this.#plan.learn, ...score][row]!]!;
    const result = nameTooLarge(pool.run(task, { signal, onProgress }), columns, (row) => ({
      ticker,
      day: dayOf(row),
    }));
    this.#started.push({ path, result });
    return result;
  }

  #forecasts(
    parts: readonly (readonly PlannedFit[])[],
    results: readonly FitPredictResult[],
    refitted: readonly BlockPredictions[],
  ): FittedTicker {
    const { settings, blocks, groups = [] } = this.#options;
    const { folds, learn, first } = this.#plan;
    const { ticker, columns } = this.#panel;
    const split = results.map((result, i) =>
      splitPredictions(readArray(result.predictions), parts[i]!, groups.length),
    );
    const predicted = concatenate(split.map((part) => part.predicted));
    const tested = folds.reduce((sum, { testStart, testEnd }) => sum + testEnd - testStart, 0);
    const { block, train } = first;
    const result = results.at(-1)!;
    const own = { block, model: block, train, predicted: predicted.subarray(tested) };
    const byBlock = [{ ...own, result, diagnosis: result.diagnoses[0] }, ...refitted];
    const tasks = [...results, ...new Set(refitted.map((refit) => refit.result))];
    return forecastTicker(
      this.#panel,
      {
        ...{ learn, folds, byBlock },
        tested: {
          predicted: predicted.subarray(0, tested),
          permuted: groups.map((_, g) => concatenate(split.map(({ permuted }) => permuted[g]!))),
        },
      },
      blocks,
      {
        ...importancesOf(byBlock, columns),
        warnings: [
          ...planWarnings(this.#panel, folds, settings),
          ...fitWarnings(byBlock, tasks, ticker, ticker),
        ],
        listed: this.#listed,
      },
    );
  }
}

/** @param x shape (m, k); @returns shape (rows, k), a view if the rows are consecutive in x, as for most tickers. */
function selectRows(x: Float64Array, k: number, rows: readonly number[]): Float64Array {
  const first = rows[0] ?? 0;
  if (rows.every((row, i) => row === first + i)) return x.subarray(first * k, (first + rows.length) * k);
  const selected = new Float64Array(rows.length * k);
  for (const [to, from] of rows.entries()) selected.set(x.subarray(from * k, (from + 1) * k), to * k);
  return selected;
}

/** The number of tasks per worker over a job: enough that at the end no worker waits long for the last task of another. */
const TASKS_PER_WORKER = 32;

/** The number of a ticker's fits per task, so that each task of the job has about the same number. */
function fitsPerTask(fits: number, tickers: number, workers: number): number {
  return Math.max(1, Math.round((tickers * fits) / (TASKS_PER_WORKER * workers)));
}

/** Divides fits into tasks of neighbours. */
function cutFits<F extends PlannedFit>(fits: readonly F[], size: number): (readonly F[])[] {
  const tasks: (readonly F[])[] = [];
  for (let from = 0; from < fits.length; from += size) tasks.push(fits.slice(from, from + size));
  return tasks;
}
