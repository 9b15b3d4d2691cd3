import { join } from "node:path";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { removeArray, writeNpy } from "../../engine/npy.ts";
import { walkForwardFolds } from "../../panel/folds.ts";
import { firstBlock, type RefitBlock, tickerBlocks } from "../../panel/refit-blocks.ts";
import { type PanelRows, targetsOf } from "../../panel/ticker-panel.ts";
import type { FitOutcome, FitPlan, FitRun, PlannedTicker } from "../plan.ts";
import { type Listed, lateTicker, listedOfRows } from "../shared/job-warnings.ts";
import { type ModelledTicker, rowFacts } from "../shared/modelled-ticker.ts";
import { type FitPanel, loadPanel } from "../shared/panels.ts";
import { runEach } from "../shared/run-concurrently.ts";
import { estimateFits } from "./fit-estimates.ts";
import {
  type BlockFit,
  type DatedFold,
  fitWarnings,
  forecastTicker,
  importancesOf,
  type MatrixFits,
  runFits,
  taskRunner,
} from "./fits.ts";
import * as importance from "./importance.ts";
import { planTicker, planWarnings, refusedColumns } from "./plan-warnings.ts";

interface TickerFits extends MatrixFits {
  /** The same folds as positions in the fit rows. */
  readonly tests: readonly DatedFold[];
  /** Shape (n), rows of the panel: those that the fits learn from, which are the first rows of the matrix. */
  readonly learn: Int32Array;
}

/** Plans the fits of a ticker, which learn from its `fit` rows and predict its `score` rows. A late ticker has no folds. */
function planFits(
  panel: Pick<PanelRows, "days" | "labelDays" | "y" | "relative" | "fit" | "score" | "joins">,
  settings: Pick<MlSettings, "cv_test_size" | "n_splits" | "delay" | "window">,
  jobBlocks: readonly RefitBlock[],
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
): FitPlan {
  const tickers: PlannedTicker[] = [];
  const failures: Failure[] = [];
  const planned: PlannedFits[] = [];
  const sizes: { readonly rows: number; readonly columns: number }[] = [];
  for (const panel of panels) {
    const refused = refusedColumns(panel, settings);
    if (refused !== undefined) {
      failures.push(refused);
      continue;
    }
    const plan = planFits(panel, settings, blocks);
    const facts = rowFacts(panel);
    const fitRows = Math.min(facts.fitRows, settings.window ?? facts.fitRows);
    const rows = listedOfRows(panel.ticker, { ...facts, fitRows }, plan.tests);
    const listed = [...rows, ...lateTicker(panel), ...panel.listed];
    planned.push({ panel, plan, listed });
    tickers.push(planTicker(panel, plan.tests, settings, listed));
    for (const { train } of [...plan.folds, ...plan.blocks])
      sizes.push({ rows: train[1] - train[0], columns: panel.columns.length });
  }
  return {
    ...{ tickers, failures, fits: settings.ensemble * sizes.length, steps: sizes.length },
    estimate: estimateFits(settings, sizes),
    async collect(run) {
      const groups = settings.importance ? importance.groupFeatures(panels, false) : [];
      const outcome = await fitTickers(planned, { ...run, settings, blocks, groups });
      if (!settings.importance) return outcome;
      return { ...outcome, importance: importance.importanceOf(outcome.tickers, groups) };
    },
  };
}

interface PlannedFits {
  readonly panel: FitPanel;
  readonly plan: TickerFits;
  readonly listed: readonly Listed[];
}

interface TickerOptions extends FitRun {
  readonly settings: MlSettings;
  readonly blocks: readonly RefitBlock[];
  /** The groups of features that every fold shuffles; empty without `importance`. */
  readonly groups: readonly importance.FeatureGroup[];
}

/** Fits the tickers, a few at a time, so that few matrices wait for a worker. A ticker that fails is listed and the others go on. */
async function fitTickers(planned: readonly PlannedFits[], options: TickerOptions): Promise<FitOutcome> {
  const { slots } = await options.pool.capacity;
  const total = planned.reduce((sum, { plan }) => sum + plan.folds.length + plan.blocks.length, 0);
  const size = Math.max(1, Math.round(total / (TASKS_PER_WORKER * slots)));
  let done = 0;
  const progress = () => options.report({ kind: "progress", stage: "fit", done, total });
  progress();
  const tickers: ModelledTicker[] = [];
  const failures: Failure[] = [];
  const waiting = planned.entries();
  await runEach(options.signal, async (start, signal) => {
    const lane = async () => {
      for (const [number, ticker] of waiting) {
        const result = await fitTicker(ticker, number, size, { ...options, signal }, () => {
          done++;
          progress();
        });
        if ("code" in result) failures.push(result);
        else tickers.push(result);
      }
    };
    for (let i = 0; i < Math.min(planned.length, 2 * slots); i++) start(lane());
  });
  options.timings.finishAll();
  const byTicker = (a: { ticker: string }, b: { ticker: string }) => compareCodePoints(a.ticker, b.ticker);
  return { tickers: tickers.sort(byTicker), failures, warnings: [], listed: [] };
}

/** Tasks of neighbouring fits for each worker over a job: enough that at the end no worker waits long for another's last task. */
const TASKS_PER_WORKER = 32;

/**
 * Fits one ticker on a matrix of its own: the rows to learn from, then the score rows.
 * @returns the failure if the engine's error affects only this ticker. @throws MucastError other errors of the engine; output_failed if the
 *   work folder's disk is full.
 */
async function fitTicker(
  { panel, plan, listed }: PlannedFits,
  number: number,
  size: number,
  { settings, pool, timings, signal, groups, workFolder, isLast, blocks: jobBlocks }: TickerOptions,
  onFit: () => void,
): Promise<ModelledTicker | Failure> {
  const { ticker, columns, days, score } = panel;
  const { learn, tests, folds, blocks } = plan;
  const rows = [...learn, ...score];
  const targets = targetsOf(panel);
  const values = selectRows(loadPanel(panel, isLast).x, columns.length, rows);
  const learned = Float64Array.from(learn, (row) => targets[row]!);
  const file = (kind: string) => join(workFolder, `${kind}${number}.npy`);
  const x = writeNpy(file("x"), values, [rows.length, columns.length]);
  const y = writeNpy(file("y"), learned, [learn.length]);
  const { estimator, scaler } = settings;
  const permutation = importance.permutationOf(groups, columns, ticker);
  const run = taskRunner({
    ...{ columns, groups: groups.length },
    task: { task: "fit_predict", estimator, scaler, x, y, permutation },
    labelOf: () => ticker,
    pathOf: (task) => file(`p${task}-`),
    placeOf: (row) => ({ ticker, day: days[rows[row]!]! }),
    onFit: (seconds) => {
      timings.add(ticker, seconds);
      onFit();
    },
    run: (task, on) => pool.run(task, on),
  });
  try {
    const tested = groups.length === 0 ? folds : folds.map(importance.withKnownRows);
    const results = await runFits({ folds: tested, blocks }, size, signal, run);
    if (results instanceof MucastError) return { ticker, code: results.code, message: results.message };
    const predicted = { learn, folds: tests, tested: results.folds, scored: results.blocks };
    return forecastTicker(panel, predicted, jobBlocks, {
      ...importancesOf(results.blocks, columns),
      warnings: [...planWarnings(panel, tests, settings), ...fitWarnings(results, ticker, ticker)],
      listed,
    });
  } finally {
    timings.finish(ticker);
    for (const { ref } of [x, y]) removeArray(ref);
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
