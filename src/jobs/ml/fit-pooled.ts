import { join } from "node:path";
import { counted } from "../../contract/errors/wording.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { readArray, removeArray } from "../../engine/npy.ts";
import type { FitPredictResult, FitPredictTask, FitProgress } from "../../engine/pool/protocol.ts";
import { mean } from "../../evaluate/statistics.ts";
import type { OrderForm } from "../../evaluate/verdict/order.ts";
import { type FeatureUnion, uniteFeatures } from "../../panel/feature-union.ts";
import { hasFewRows } from "../../panel/folds.ts";
import { type PooledBlock, type PooledPlan, planPooled } from "../../panel/pooled-plan.ts";
import { fitLabels, type PanelRows } from "../../panel/ticker-panel.ts";
import type { PooledFit } from "../shared/job-document.ts";
import type { Listed } from "../shared/listed-warnings.ts";
import type { PanelOnDisk } from "../shared/panel-files.ts";
import { runEach } from "../shared/run-concurrently.ts";
import { constantWarning } from "../shared/ticker-warnings.ts";
import { type FitOptions, namingTooLarge } from "./fit-ticker.ts";
import type { FitOutcome } from "./fit-tickers.ts";
import { importancesOf, notConverged } from "./fitted-ticker.ts";
import { splitPredictions } from "./importance/permuted-predictions.ts";
import { type PooledShuffle, pooledShuffle } from "./importance/replacement-rows.ts";
import { type PlannedFit, type PlannedRefit, refusedColumns } from "./plan-fits.ts";
import { matrixBytes, type PooledMatrix, writePooledMatrix } from "./pooled-matrix.ts";
import { type FitSize, roomForFits, workerBytes } from "./pooled-memory.ts";
import { type FitPredictions, type ListedPanel, type PooledFits, pooledTickers } from "./pooled-tickers.ts";
import { type BlockPredictions, constantOf, failedRefitWarnings, runRefits } from "./run-refits.ts";

/** The name of the single fit in warnings, progress and errors. */
export const POOLED = "pooled";

export interface PooledOutcome extends FitOutcome {
  /** Absent if no ticker takes part. */
  readonly pooled?: PooledFit;
  /** The number of training rows of each block's models, over all tickers. */
  readonly blockRows?: readonly number[];
  /** Lists the fit itself if its rows are too few. */
  readonly listed: readonly Listed[];
  /** With `importance`: the form of order for which features were shuffled. */
  readonly shuffled?: OrderForm;
  /** Warnings of the fit itself. */
  readonly warnings: readonly Warning[];
}

type PooledOptions = FitOptions & {
  /** Called at the start, and after each fit. */
  readonly onFits: (done: number, planned: number) => void;
  /** Memory limit of the job's processes in bytes; undefined on a cluster, whose nodes have their own. */
  readonly memoryLimit: number | undefined;
};

/**
 * Fits one regressor on the rows of all tickers: every fold, and the final model. Each fit is a task, the largest first. As many run at a
 * time as workers and memory allow.
 * @throws MucastError out_of_memory, before anything is fitted, if the largest fit would not fit into the memory; fit_failed or
 *   engine_crashed if any fit fails, because all tickers depend on it; output_failed if the work folder's disk is full.
 */
export async function fitPooled(
  panels: readonly ListedPanel[],
  options: PooledOptions,
): Promise<PooledOutcome> {
  const { settings, workFolder, timings, blocks, groups } = options;
  const plan = planPooled(panels, settings, blocks);
  const union = unitePooled(plan);
  const failures = refusedTickers(panels, union, settings);
  if (failures.length === panels.length) return { fitted: [], failures, listed: [], warnings: [] };
  const run = fitRunner(plan, union, options);
  const matrix = writePooledMatrix(plan, union, workFolder);
  for (const { x } of panels) removeArray(x.ref);
  const shuffle = groups && pooledShuffle(plan, groups, union.names, workFolder);
  const fits = await runFits(
    plan,
    { ...matrix, names: union.names, hasAbsent: union.warnings.length > 0, shuffle },
    run,
    options,
  );
  timings.finishAll();
  for (const { ref } of [matrix.x, matrix.y, ...(shuffle ? [shuffle.permutation.strata] : [])])
    removeArray(ref);
  return {
    fitted: pooledTickers(plan, fits, union.warnings, options),
    failures: [],
    pooled: pooledFit(plan, union, fits),
    blockRows: fits.blocks.map(({ train: [from, to] }) => to - from),
    ...(shuffle && { shuffled: shuffle.form }),
    listed: listedOfPool(plan, union.names.length),
    warnings: fitWarnings(fits),
  };
}

/** The columns of the matrix. */
export function unitePooled({ members }: PooledPlan<PanelRows>): FeatureUnion {
  const panels = members.map(({ panel }) => panel);
  return uniteFeatures(panels, "each fit uses the mean of the others");
}

/** Every ticker, if the model's arguments name a column that the matrix lacks; otherwise none. */
export function refusedTickers(
  panels: readonly Pick<PanelRows, "ticker">[],
  { names }: FeatureUnion,
  settings: FitOptions["settings"],
): Failure[] {
  const refused = refusedColumns({ ticker: POOLED, columns: names }, settings);
  return refused === undefined ? [] : panels.map(({ ticker }) => ({ ...refused, ticker }));
}

/** The fits of a pooled plan as rows of its matrix. */
interface PlannedPool {
  readonly folds: readonly PlannedFit[];
  /** The fit of the first block. */
  readonly first: PlannedFit;
  readonly refits: readonly PlannedRefit[];
}

function pooledFits({ folds, blocks }: PooledPlan): PlannedPool {
  const [first, ...later] = blocks.map(({ trainStart, trainEnd, scoreStart, scoreEnd }, block) => ({
    block,
    train: [trainStart, trainEnd] as const,
    predict: [scoreStart, scoreEnd] as const,
  }));
  const { block: _, ...firstFit } = first!;
  return {
    folds: folds.map(({ trainStart, trainEnd, testEnd }) => ({
      train: [trainStart, trainEnd],
      predict: [trainEnd, testEnd],
    })),
    first: { ...firstFit, diagnose: true },
    refits: later.map((refit) => ({ ...refit, diagnose: true })),
  };
}

function allFits({ folds, first, refits }: PlannedPool): PlannedFit[] {
  return [...folds, first, ...refits];
}

/**
 * Whether the largest fit of each of several regressors fits into the memory, before anything is fitted.
 * @param panels for all of them; @param settings of pooled fits, which differ in the regressor alone. @param held bytes.
 * @throws MucastError out_of_memory for the first that does not. Rows of late tickers do not count yet.
 */
export function requireRoom(
  panels: readonly PanelOnDisk[],
  settings: readonly FitOptions["settings"][],
  blocks: FitOptions["blocks"],
  memory: { readonly limit: number; readonly held: number },
): void {
  const [first] = settings;
  if (first === undefined || panels.length === 0) return;
  const plan = planPooled(panels, first, blocks);
  const union = unitePooled(plan);
  const size = sizeOf(largestFit(plan), union);
  for (const own of settings) {
    if (refusedTickers(panels, union, own).length === 0) roomForFits(size, own, memory);
  }
}

/** What a fit on this many rows reads. */
function sizeOf(rows: number, { names, warnings }: FeatureUnion): FitSize {
  return { rows, columns: names.length, hasAbsent: warnings.length > 0 };
}

/** Runs a task once there is memory for a fit on this many rows. */
type FitRunner = (
  rows: number,
  task: FitPredictTask,
  options: { readonly signal: AbortSignal; readonly onProgress: (progress: FitProgress) => void },
) => Promise<FitPredictResult>;

/** @throws MucastError out_of_memory if there is not enough for the largest. */
function fitRunner(plan: PooledPlan, union: FeatureUnion, options: PooledOptions): FitRunner {
  const { pool, settings, memoryLimit, groups = [] } = options;
  const shuffledRows = groups.length === 0 ? 0 : Math.max(0, ...plan.folds.map(testRows));
  const sizeOfFit = (rows: number) => ({ ...sizeOf(rows, union), shuffledRows });
  const bytesOf = (rows: number) => workerBytes(sizeOfFit(rows), settings);
  if (memoryLimit === undefined) {
    const read = matrixBytes(plan, union.names.length) + NODE_ENGINE_BYTES;
    return (rows, task, own) => pool.run(task, { ...own, memoryBytes: read + bytesOf(rows) });
  }
  // This process holds the predictions of all groups twice: as the engine returns them, and by ticker.
  const predicted = 2 * 8 * groups.length * plan.folds.reduce((sum, fold) => sum + testRows(fold), 0);
  const memory = { limit: memoryLimit, held: pool.heldBytes() + predicted };
  const room = roomForFits(sizeOfFit(largestFit(plan)), settings, memory);
  return (rows, task, own) => room.during(bytesOf(rows), () => pool.run(task, own));
}

/** The number of rows in the largest fit of a plan. */
export function largestFit(plan: PooledPlan): number {
  return Math.max(...allFits(pooledFits(plan)).map(learnedRows));
}

function testRows({ trainEnd, testEnd }: PooledPlan["folds"][number]): number {
  return testEnd - trainEnd;
}

function learnedRows({ train: [from, to] }: PlannedFit): number {
  return to - from;
}

/** The engine process of a node with its libraries, which has its own copy of the matrix in memory. */
const NODE_ENGINE_BYTES = 128 * 2 ** 20;

/** The matrix of all fits. */
interface FittedRows extends PooledMatrix {
  readonly names: readonly string[];
  readonly hasAbsent: boolean;
  readonly shuffle: PooledShuffle | undefined;
}

async function runFits(
  plan: PooledPlan,
  rows: FittedRows,
  runTask: FitRunner,
  options: PooledOptions,
): Promise<PooledFits> {
  const { timings, onFits, groups = [] } = options;
  const { shuffle } = rows;
  await options.trial;
  const planned = pooledFits(plan);
  const { first, refits } = planned;
  const folds = planned.folds.map((fit) => shuffle?.withPool(fit) ?? fit);
  const total = allFits(planned).length;
  let [done, tasks] = [0, 0];
  onFits(0, total);
  const runFit = async (fit: PlannedFit, label: string, signal: AbortSignal) => {
    const task = fitTask(fit, label, tasks++, rows, options);
    const onProgress = ({ seconds }: FitProgress) => timings.add(POOLED, seconds);
    const result = await namingTooLarge(
      runTask(learnedRows(fit), task, { signal, onProgress }),
      rows.names,
      (row) => placeOf(plan, row),
    );
    const split = splitPredictions(readArray(result.predictions), [fit], groups.length);
    if (!("base64" in result.predictions)) removeArray(task.predictions.ref);
    done = Math.min(done + 1, total);
    onFits(done, total);
    return { result, ...split, from: fit.predict[0] };
  };
  const results: FitPredictions[] = [];
  const byBlock: BlockPredictions[] = [];
  let refitted: readonly BlockPredictions[] = [];
  const runFirst = async (signal: AbortSignal): Promise<void> => {
    const { result, predicted } = await runFit(first, POOLED, signal);
    const [diagnosis] = result.diagnoses;
    byBlock[0] = { block: 0, model: 0, train: first.train, predicted, result, diagnosis };
  };
  const refitAll = async (signal: AbortSignal): Promise<void> => {
    const alone = refits.map((refit) => [refit]);
    refitted = await runRefits({ ...first, block: 0 }, alone, ([refit]) =>
      runFit(refit!, `${POOLED}, refit`, signal),
    );
  };
  const runFold = async (fold: number, fit: PlannedFit, signal: AbortSignal): Promise<void> => {
    results[fold] = await runFit(fit, `${POOLED}, fold ${fold + 1}`, signal);
  };
  await runEach(options.signal, async (start, signal) => {
    start(refitAll(signal));
    start(runFirst(signal));
    for (const [fold, fit] of [...folds.entries()].reverse()) start(runFold(fold, fit, signal));
  });
  return { folds: results, blocks: [...byBlock, ...refitted] };
}

function placeOf({ members }: PooledPlan, row: number) {
  const { panel, learn, places } = members.find((member) => member.places.includes(row))!;
  const day = panel.days[[...learn, ...panel.score][places.indexOf(row)]!]!;
  return { ticker: panel.ticker, day };
}

function fitTask(
  fit: PlannedFit,
  label: string,
  number: number,
  { x, y, hasAbsent, shuffle }: FittedRows,
  { settings: { estimator, scaler }, workFolder }: FitOptions,
): FitPredictTask {
  return {
    task: "fit_predict",
    label,
    estimator,
    scaler,
    x,
    y,
    fits: [fit],
    predictions: { ref: join(workFolder, `pooled-p${number}.npy`) },
    views: true,
    ...(hasAbsent ? { absent: true } : {}),
    ...(shuffle && fit.pool ? { permutation: shuffle.permutation } : {}),
  };
}

function pooledFit(
  plan: PooledPlan<PanelOnDisk>,
  { names }: FeatureUnion,
  { blocks }: PooledFits,
): PooledFit {
  const { importances, lastImportances } = importancesOf(blocks, names);
  return {
    fitRows: plan.fitRows,
    features: names.length,
    labelMean: labelMean(plan),
    foldRows: plan.folds.map(({ trainStart, trainEnd }) => trainEnd - trainStart),
    ...(importances && { importances }),
    ...(lastImportances && { lastImportances }),
  };
}

/** Over the fit rows; sums follow the order of the matrix. */
function labelMean({ members, fitRows }: PooledPlan<PanelOnDisk>): number {
  const labels = new Float64Array(fitRows);
  for (const { panel, places } of members) {
    if (panel.joins !== undefined) continue;
    for (const [position, label] of fitLabels(panel).entries()) labels[places[position]!] = label;
  }
  return mean(labels);
}

/** Lists the fit of all tickers if their rows together are too few for the features. */
export function listedOfPool({ blocks, folds }: PooledPlan, features: number): Listed[] {
  const ranges = folds.map((fold) => ({ ...fold, testStart: fold.trainEnd }));
  const [{ trainStart, trainEnd }] = blocks as readonly [PooledBlock];
  const learned = trainEnd - trainStart;
  if (!hasFewRows(learned, features, ranges)) return [];
  const detail = `${counted(learned, "fit row")}, ${counted(features, "feature")}`;
  return [{ code: "few_rows", ticker: POOLED, detail }];
}

function fitWarnings({ folds, blocks }: PooledFits): Warning[] {
  const warnings: Warning[] = [];
  const constant = constantOf(blocks);
  if (constant !== undefined) {
    const { ticker: _, ...warning } = constantWarning(POOLED, constant);
    warnings.push(warning);
  }
  const count = [...folds, ...blocks].reduce((sum, { result }) => sum + result.unconverged_fits, 0);
  if (count > 0) warnings.push(notConverged(count));
  return [...warnings, ...failedRefitWarnings(blocks)];
}
