import { join } from "node:path";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { removeArray, writeNpy } from "../../engine/npy.ts";
import type { FitPredictTask } from "../../engine/pool/protocol.ts";
import { walkForwardFolds } from "../../panel/folds.ts";
import { firstBlock, ONE_BLOCK, type RefitBlock, tickerBlocks } from "../../panel/refit-blocks.ts";
import { type PanelRows, type TickerPanel, targetsOf } from "../../panel/ticker-panel.ts";
import type { FitOutcome, FitPlan, FitRun, PlannedTicker } from "../plan.ts";
import { lateTicker, listedOfRows } from "../shared/listed-warnings.ts";
import { rowFacts } from "../shared/modelled-ticker.ts";
import { type FitPanel, loadPanel } from "../shared/panels.ts";
import { runEach } from "../shared/run-concurrently.ts";
import { estimateFits } from "./fit-estimates.ts";
import { type BlockFit, fitWarnings, importancesOf, type MatrixFits, runFits, taskRunner } from "./fits.ts";
import { type DatedFold, type FittedTicker, forecastTicker } from "./fitted-ticker.ts";
import * as importance from "./importance.ts";
import { listedOfFeatures, planTicker, planWarnings, refusedColumns } from "./plan-warnings.ts";

interface TickerFits extends MatrixFits {
  /** The same folds as positions in the fit rows. */
  readonly tests: readonly DatedFold[];
  /** Shape (n), rows of the panel: those that the fits learn from, which are the first rows of the matrix. */
  readonly learn: Int32Array;
}

/** Plans the fits of a ticker, which learn from its `fit` rows and predict its `score` rows. A late ticker has no folds. */
export function planFits(
  panel: Pick<PanelRows, "days" | "labelDays" | "y" | "relative" | "fit" | "score" | "joins">,
  settings: Pick<MlSettings, "cv_test_size" | "n_splits" | "delay" | "window">,
  jobBlocks: readonly RefitBlock[] = ONE_BLOCK,
): TickerFits {
  const { fit, days, labelDays } = panel;
  const { window = Number.POSITIVE_INFINITY } = settings;
  const { learn, blocks: own } = tickerBlocks(panel, jobBlocks);
  const known = { days: fit.map((row) => days[row]!), labelDays: fit.map((row) => labelDays[row]!) };
  const folds = panel.joins === undefined ? walkForwardFolds(known, settings) : [];
  const start = firstBlock(panel, jobBlocks);
  const blocks = own
    .map(
      ({ learnEnd, scoreStart, scoreEnd }, block): BlockFit => ({
        block,
        train: [Math.max(0, learnEnd - window), learnEnd],
        predict: [learn.length + scoreStart, learn.length + scoreEnd],
        diagnose: true,
      }),
    )
    .filter(({ block, predict: [from, to] }) => block === start || (block > start && from < to));
  return {
    tests: folds.map((fold) => ({ ...fold, from: known.days[fold.testStart]! })),
    folds: folds.map(({ trainStart, trainEnd, testStart, testEnd }) => ({
      train: [trainStart, trainEnd],
      predict: [testStart, testEnd],
    })),
    blocks: blocks as [BlockFit, ...BlockFit[]],
    learn,
  };
}

export function planPerTicker(
  panels: readonly FitPanel[],
  settings: MlSettings,
  blocks: readonly RefitBlock[],
): FitPlan<FittedTicker> {
  const tickers: PlannedTicker[] = [];
  const failures: Failure[] = [];
  const sizes: { readonly rows: number; readonly columns: number }[] = [];
  // The prices of a late ticker may end before it joins.
  const forecast = panels.filter(({ joins, score }) => joins === undefined || score.length > 0);
  for (const panel of forecast) {
    const refused = refusedColumns(panel, settings);
    if (refused !== undefined) {
      failures.push(refused);
      continue;
    }
    const plan = planFits(panel, settings, blocks);
    const listed = [...listedOfPlan(panel, plan, settings), ...panel.listed];
    tickers.push(planTicker(panel, plan.tests, settings, listed));
    for (const { train } of [...plan.folds, ...plan.blocks])
      sizes.push({ rows: train[1] - train[0], columns: panel.columns.length });
  }
  return {
    ...{ tickers, failures, fits: sizes.length, steps: sizes.length },
    estimate: estimateFits(settings, sizes),
    async collect(run) {
      const groups = settings.importance ? importance.groupFeatures(panels, false) : undefined;
      const load = function* () {
        for (const panel of forecast) yield loadPanel(panel, run.isLast);
      };
      const outcome = await fitTickers(load, { ...run, settings, blocks, ...(groups && { groups }) });
      return { ...outcome, ...(groups && { importance: importance.importanceOf(outcome.tickers, groups) }) };
    },
  };
}

function listedOfPlan(panel: PanelRows, { tests }: TickerFits, { window }: MlSettings) {
  const facts = rowFacts(panel);
  const fitRows = Math.min(facts.fitRows, window ?? facts.fitRows);
  return [...listedOfRows(panel.ticker, { ...facts, fitRows }, tests), ...lateTicker(panel)];
}

export interface TickerOptions extends FitRun {
  readonly settings: MlSettings;
  readonly blocks: readonly RefitBlock[];
  /** The groups of features that every fold shuffles; absent without `importance`. */
  readonly groups?: readonly importance.FeatureGroup[];
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
  const onFit = () => {
    done++;
    progress();
  };
  const tickers: FittedTicker[] = [];
  const failures: Failure[] = [];
  const results = await runEach<FittedTicker | Failure>(options.signal, async (start, signal) => {
    let number = 0;
    for await (const panel of read(signal)) {
      signal.throwIfAborted();
      const refused = "code" in panel ? panel : refusedColumns(panel, settings);
      if ("code" in panel || refused !== undefined) failures.push(refused!);
      else {
        const plan = planFits(panel, settings, blocks);
        planned += plan.folds.length + plan.blocks.length;
        start(fitTicker(panel, plan, number++, { ...options, signal }, onFit));
      }
    }
    isComplete = true;
    progress();
  });
  options.timings.finishAll();
  for (const result of results) {
    if ("code" in result) failures.push(result);
    else tickers.push(result);
  }
  const byTicker = (a: { ticker: string }, b: { ticker: string }) => compareCodePoints(a.ticker, b.ticker);
  return { tickers: tickers.sort(byTicker), failures: failures.sort(byTicker), warnings: [], listed: [] };
}

/** A ticker without its features, which are in its matrix. */
interface WrittenTicker {
  readonly panel: PanelRows;
  readonly plan: TickerFits;
  readonly task: Omit<FitPredictTask, "label" | "fits" | "predictions">;
  readonly listed: FittedTicker["listed"];
  /** The number of the ticker within the job: file names never contain a ticker's name. */
  readonly number: number;
}

/** Writes the matrix of a ticker, at once, then fits it. @throws MucastError output_failed if the work folder's disk is full. */
function fitTicker(
  { x, ...panel }: TickerPanel,
  plan: TickerFits,
  number: number,
  options: TickerOptions,
  onFit: () => void,
): Promise<FittedTicker | Failure> {
  const { settings, workFolder } = options;
  const rows = [...plan.learn, ...panel.score];
  const targets = targetsOf(panel);
  const y = Float64Array.from(plan.learn, (row) => targets[row]!);
  const k = panel.columns.length;
  const task = {
    task: "fit_predict",
    estimator: settings.estimator,
    scaler: settings.scaler,
    x: writeNpy(join(workFolder, `x${number}.npy`), selectRows(x, k, rows), [rows.length, k]),
    y: writeNpy(join(workFolder, `y${number}.npy`), y, [plan.learn.length]),
  } as const;
  const features = listedOfFeatures({ ...panel, x }, settings);
  const listed = [...listedOfPlan(panel, plan, settings), ...features];
  return fitMatrix({ panel, plan, task, listed, number }, options, onFit);
}

/** @returns the failure if the engine's error affects only this ticker. @throws MucastError other errors of the engine. */
async function fitMatrix(
  { panel, plan, task, listed, number }: WrittenTicker,
  options: TickerOptions,
  onFit: () => void,
): Promise<FittedTicker | Failure> {
  const { settings, pool, timings, signal, groups = [], workFolder } = options;
  const { ticker, columns, days, score } = panel;
  const { learn, tests, folds, blocks } = plan;
  const permutation = importance.permutationOf(groups, columns, ticker);
  const run = taskRunner({
    ...{ signal, columns, groups: groups.length },
    task: { ...task, permutation },
    labelOf: () => ticker,
    pathOf: (own) => join(workFolder, `p${number}-${own}.npy`),
    placeOf: (row) => ({ ticker, day: days[[...learn, ...score][row]!]! }),
    onFit: (seconds) => {
      timings.add(ticker, seconds);
      onFit();
    },
    run: (own, on) => pool.run(own, on),
  });
  try {
    // It ends when the job is canceled; `capacity` ends only with the attempt to reach a cluster.
    await options.device;
    const { slots } = await pool.capacity;
    const size = fitsPerTask(folds.length + blocks.length, options.expectedTickers, slots);
    const tested = groups.length === 0 ? folds : folds.map(importance.withKnownRows);
    const results = await runFits({ folds: tested, blocks }, { size }, run);
    if (results instanceof MucastError) return { ticker, code: results.code, message: results.message };
    const predicted = { learn, folds: tests, tested: results.folds, scored: results.blocks };
    return forecastTicker(panel, predicted, options.blocks, {
      ...importancesOf(results.blocks, columns),
      warnings: [...planWarnings(panel, tests, settings), ...fitWarnings(results, ticker, ticker)],
      listed,
    });
  } finally {
    timings.finish(ticker);
    for (const { ref } of [task.x, task.y]) removeArray(ref);
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

function fitsPerTask(fits: number, tickers: number, workers: number): number {
  return Math.max(1, Math.round((tickers * fits) / (TASKS_PER_WORKER * workers)));
}
