import { join } from "node:path";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { counted } from "../../contract/errors/wording.ts";
import { readArray } from "../../engine/inline-array.ts";
import { removeArray } from "../../engine/npy.ts";
import type { RunOptions } from "../../engine/pool/pool.ts";
import type { FitPredictResult, FitPredictTask } from "../../engine/pool/protocol.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { mean } from "../../evaluate/statistics.ts";
import { type FeatureUnion, uniteFeatures } from "../../panel/feature-union.ts";
import { hasFewRows } from "../../panel/folds.ts";
import { type PooledMember, type PooledPlan, planPooled } from "../../panel/pooled-plan.ts";
import { firstBlock, type RefitBlock } from "../../panel/refit-blocks.ts";
import { fitLabels, type PanelRows } from "../../panel/ticker-panel.ts";
import type { FitOutcome, FitPlan, FitRun } from "../plan.ts";
import type { PooledFit } from "../shared/job-document.ts";
import { type Listed, lateTicker, listedOfRows } from "../shared/listed-warnings.ts";
import { rowFacts } from "../shared/modelled-ticker.ts";
import type { FitPanel } from "../shared/panels.ts";
import { runEach } from "../shared/run-concurrently.ts";
import { countFitsAtATime, estimateFits, type FitSize, workerBytes } from "./fit-estimates.ts";
import {
  type BlockPredictions,
  fitWarnings,
  importancesOf,
  nameTooLarge,
  type PlannedFit,
  type PlannedRefit,
  runRefits,
  type SplitPredictions,
  splitPredictions,
} from "./fits.ts";
import { type FittedTicker, forecastTicker } from "./fitted-ticker.ts";
import { type FeatureGroup, groupFeatures } from "./importance/feature-groups.ts";
import { importanceOf } from "./importance/importance-output.ts";
import { type PooledShuffle, shufflePooled } from "./importance/pooled-shuffle.ts";
import { plannedTicker, planWarnings, refusedColumns } from "./plan-warnings.ts";
import { matrixBytes, type PooledMatrix, writePooledMatrix } from "./pooled-matrix.ts";

/** The name of the single fit in warnings, progress and errors. */
const POOLED = "pooled";

/** The rows of all tickers and the fits on them, which do not depend on the regressor. */
interface PooledFits {
  readonly plan: PooledPlan<FitPanel>;
  readonly union: FeatureUnion;
  readonly folds: readonly PlannedFit[];
  /** One per block. */
  readonly blocks: readonly PlannedRefit[];
  /** Rows that the largest fit learns from. */
  readonly largest: number;
}

/** Candidates of a job share the rows of the same panels, and everything but the regressor. */
const PLANNED = new WeakMap<readonly FitPanel[], PooledFits & Pick<MlSettings, "nSplits">>();

function planFits(
  panels: readonly FitPanel[],
  settings: MlSettings,
  jobBlocks: readonly RefitBlock[],
): PooledFits {
  const found = PLANNED.get(panels);
  if (found?.nSplits === settings.nSplits) return found;
  const plan = planPooled(panels, settings, jobBlocks);
  const folds = plan.folds.map(
    ({ trainStart, trainEnd, testEnd }): PlannedFit => ({
      train: [trainStart, trainEnd],
      predict: [trainEnd, testEnd],
    }),
  );
  const blocks = plan.blocks.map(
    ({ trainStart, trainEnd, scoreStart, scoreEnd }, block): PlannedRefit => ({
      block,
      train: [trainStart, trainEnd],
      predict: [scoreStart, scoreEnd],
      diagnose: true,
    }),
  );
  const union = uniteFeatures(
    plan.members.map(({ panel }) => panel),
    "each fit uses the mean of the others",
  );
  const fits = { plan, union, folds, blocks, largest: Math.max(...[...folds, ...blocks].map(learnedRows)) };
  PLANNED.set(panels, { ...fits, nSplits: settings.nSplits });
  return fits;
}

function learnedRows({ train: [from, to] }: PlannedFit): number {
  return to - from;
}

function testRows({ predict: [from, to] }: PlannedFit): number {
  return to - from;
}

/** One regressor per block for all tickers. */
export function planPooledFits(
  panels: readonly FitPanel[],
  settings: MlSettings,
  jobBlocks: readonly RefitBlock[],
): FitPlan<FittedTicker> {
  const fits = planFits(panels, settings, jobBlocks);
  const { plan, union, folds, blocks, largest } = fits;
  const columns = union.names.length;
  const refused = refusedColumns({ ticker: POOLED, columns: union.names }, settings);
  if (refused !== undefined) {
    const failures = panels.map(({ ticker }) => ({ ...refused, ticker }));
    const outcome = { tickers: [], failures, warnings: [], listed: [] };
    const estimate = estimateFits(settings, []);
    return { tickers: [], failures, fits: 0, steps: 0, estimate, collect: async () => outcome };
  }
  const all = [...folds, ...blocks];
  const size = { rows: largest, columns, hasAbsent: union.warnings.length > 0 };
  return {
    tickers: forecastMembers(plan).map(({ panel, folds: own }) =>
      plannedTicker(panel, own, settings, listedOf(panel), absentOf(panel, union)),
    ),
    ...{ failures: [], fits: all.length, steps: all.length },
    listed: listedOfPool(plan, columns),
    estimate: estimateFits(
      settings,
      all.map((fit) => ({ rows: learnedRows(fit), columns })),
    ),
    pooled: {
      rows: plan.learnRows + plan.scoreRows,
      fit_rows: plan.fitRows,
      columns,
      bytes: matrixBytes(plan, columns),
      fit_bytes: workerBytes(size, settings),
      folds: plan.folds.length,
    },
    requireRoom({ pool, memoryLimit: limit }) {
      if (limit !== undefined) countFitsAtATime(size, settings, { limit, held: pool.heldBytes() });
    },
    collect: (run) => fitPooled(fits, { ...run, settings }),
  };
}

/** The tickers that have something to forecast: a late one may only be learned from, because its prices end before it joins. */
function forecastMembers({ members }: PooledPlan<FitPanel>): readonly PooledMember<FitPanel>[] {
  return members.filter(({ panel }) => panel.joins === undefined || panel.score.length > 0);
}

/** One regressor learns from all rows, so a ticker's own rows are never too few for the features. */
function listedOf(panel: FitPanel): Listed[] {
  const facts = { ...rowFacts(panel), features: 0 };
  return [...listedOfRows(panel.ticker, facts), ...panel.listed, ...lateTicker(panel)];
}

function absentOf({ ticker }: PanelRows, { warnings }: FeatureUnion) {
  return warnings.filter((warning) => warning.ticker === ticker);
}

/** Lists the fit of all tickers if their rows together are too few for the features. */
function listedOfPool({ blocks, folds }: PooledPlan, features: number): Listed[] {
  const ranges = folds.map((fold) => ({ ...fold, testStart: fold.trainEnd }));
  const { trainStart, trainEnd } = blocks[0]!;
  const learned = trainEnd - trainStart;
  if (!hasFewRows(learned, features, ranges)) return [];
  const detail = `${counted(learned, "fit row")}, ${counted(features, "feature")}`;
  return [{ code: "few_rows", ticker: POOLED, detail }];
}

type PooledOptions = FitRun & { readonly settings: MlSettings };

/** What the fit of a fold or block predicts, and the matrix row of the first of its rows. */
type RangePredictions = SplitPredictions & { readonly result: FitPredictResult; readonly from: number };

/** The matrix that all fits map. */
interface FittedRows extends PooledMatrix {
  readonly shuffle: PooledShuffle | undefined;
  readonly groups: readonly FeatureGroup[];
}

/**
 * Fits one regressor on the rows of all tickers: every fold, and the models of all blocks. Each fit is a task, the largest first. As many run
 * at a time as workers and memory allow.
 * @throws MucastError out_of_memory, before anything is fitted, if the largest fit would not fit into the memory; fit_failed or
 *   engine_crashed if any fit fails, because all tickers depend on it; output_failed if the work folder's disk is full.
 */
async function fitPooled(fits: PooledFits, options: PooledOptions): Promise<FitOutcome<FittedTicker>> {
  const { settings, workFolder, timings, isLast } = options;
  const { plan, union } = fits;
  const panels = plan.members.map(({ panel }) => panel);
  const groups = settings.importance ? groupFeatures(panels, true) : [];
  const runTask = taskRunner(fits, groups.length, options);
  const matrix = writePooledMatrix(plan, union, workFolder);
  if (isLast) for (const { x } of panels) removeArray(x.ref);
  const shuffle = groups.length === 0 ? undefined : shufflePooled(plan, groups, union.names, workFolder);
  const done = await runFits(fits, { ...matrix, shuffle, groups }, runTask, options);
  timings.finishAll();
  for (const { ref } of [matrix.x, matrix.y, ...(shuffle ? [shuffle.permutation.strata] : [])])
    removeArray(ref);
  const tickers = forecastMembers(plan).map((member) => forecastMember(member, fits, done, settings));
  return {
    tickers,
    failures: [],
    pooled: pooledFit(fits, done.blocks),
    blockRows: done.blocks.map(({ train: [from, to] }) => to - from),
    ...(shuffle && { importance: importanceOf(tickers, groups, shuffle.form) }),
    listed: listedOfPool(plan, union.names.length),
    warnings: fitWarnings(
      done.blocks,
      [...done.folds, ...done.blocks].map(({ result }) => result),
      POOLED,
    ),
  };
}

/** The engine process of a node with its libraries, which has its own copy of the matrix in memory. */
const NODE_ENGINE_BYTES = 128 * 2 ** 20;

type RunTask = (
  rows: number,
  task: FitPredictTask,
  options: RunOptions<FitPredictTask>,
) => Promise<FitPredictResult>;

/** Runs the task of a fit on this many rows once there is memory for it. @throws MucastError out_of_memory if there is not enough for the largest. */
function taskRunner(
  fits: PooledFits,
  groups: number,
  { pool, settings, memoryLimit }: PooledOptions,
): RunTask {
  const { plan, union, folds, largest } = fits;
  const columns = union.names.length;
  const shuffledRows = groups === 0 ? 0 : Math.max(0, ...folds.map(testRows));
  const sizeOf = (rows: number): FitSize => ({
    ...{ rows, columns, shuffledRows },
    hasAbsent: union.warnings.length > 0,
  });
  if (memoryLimit === undefined) {
    const read = matrixBytes(plan, columns) + NODE_ENGINE_BYTES;
    return (rows, task, options) =>
      pool.run(task, { ...options, memoryBytes: read + workerBytes(sizeOf(rows), settings) });
  }
  // This process holds the predictions of all groups twice: as the engine returns them, and by ticker.
  const predicted = 2 * 8 * groups * folds.reduce((sum, fold) => sum + testRows(fold), 0);
  const memory = { limit: memoryLimit, held: pool.heldBytes() + predicted };
  const most = countFitsAtATime(sizeOf(largest), settings, memory);
  const running = new Set<Promise<unknown>>();
  return async (_, task, options) => {
    while (running.size >= most) await Promise.race(running);
    const result = pool.run(task, options);
    const ended: Promise<boolean> = result.then(
      () => running.delete(ended),
      () => running.delete(ended),
    );
    running.add(ended);
    return await result;
  };
}

async function runFits(
  { plan, union, folds, blocks }: PooledFits,
  { x, y, shuffle, groups }: FittedRows,
  runTask: RunTask,
  options: PooledOptions,
): Promise<{ readonly folds: readonly RangePredictions[]; readonly blocks: readonly BlockPredictions[] }> {
  const { timings, report, workFolder, settings } = options;
  await options.device;
  const total = folds.length + blocks.length;
  let [done, tasks] = [0, 0];
  const progress = () => report({ kind: "progress", stage: "fit", done, total });
  progress();
  const runFit = async (fit: PlannedFit, label: string, signal: AbortSignal): Promise<RangePredictions> => {
    const predictions = { ref: join(workFolder, `pooled-p${tasks++}.npy`) };
    const task: FitPredictTask = {
      task: "fit_predict",
      label,
      estimator: settings.estimator,
      scaler: settings.scaler,
      ...{ x, y, fits: [fit], predictions, views: true },
      ...(union.warnings.length > 0 ? { absent: true } : {}),
      ...(shuffle && fit.pool ? { permutation: shuffle.permutation } : {}),
    };
    const onProgress = ({ seconds }: { readonly seconds: number }) => timings.add(POOLED, seconds);
    const result = await nameTooLarge(
      runTask(learnedRows(fit), task, { signal, onProgress }),
      union.names,
      (row) => placeOf(plan, row),
    );
    const split = splitPredictions(readArray(result.predictions), [fit], groups.length);
    if (!("base64" in result.predictions)) removeArray(predictions.ref);
    done = Math.min(done + 1, total);
    progress();
    return { result, ...split, from: fit.predict[0] };
  };
  const byFold: RangePredictions[] = [];
  const byBlock: BlockPredictions[] = [];
  let firstBlock: BlockPredictions | undefined;
  const [first, ...later] = blocks as readonly [PlannedRefit, ...PlannedRefit[]];
  const { block: _, ...firstFit } = first;
  await runEach(options.signal, async (start, signal) => {
    const runBlock = ([refit]: readonly PlannedFit[]) => runFit(refit!, `${POOLED}, refit`, signal);
    const refitted = runRefits(
      first,
      later.map((refit) => [refit]),
      runBlock,
    );
    start(
      refitted.then((refits) => {
        byBlock.push(...refits);
      }),
    );
    start(
      runFit(firstFit, POOLED, signal).then(({ result, predicted }) => {
        const [diagnosis] = result.diagnoses;
        firstBlock = { block: 0, model: 0, train: first.train, predicted, result, diagnosis };
      }),
    );
    for (const [fold, fit] of [...folds.entries()].reverse()) {
      const runFold = async () => {
        const own = shuffle?.withPool(fit) ?? fit;
        byFold[fold] = await runFit(own, `${POOLED}, fold ${fold + 1}`, signal);
      };
      start(runFold());
    }
  });
  return { folds: byFold, blocks: [firstBlock!, ...byBlock] };
}

/** The ticker and date of a row of the matrix. */
function placeOf({ members }: PooledPlan, row: number) {
  const { panel, learn, places } = members.find((member) => member.places.includes(row))!;
  const day = panel.days[[...learn, ...panel.score][places.indexOf(row)]!]!;
  return { ticker: panel.ticker, day };
}

/** The forecasts of a ticker, extracted from those of the fits. */
function forecastMember(
  member: PooledMember<FitPanel>,
  { plan, union }: PooledFits,
  done: Awaited<ReturnType<typeof runFits>>,
  settings: MlSettings,
): FittedTicker {
  const { panel, learn, places, blocks } = member;
  const score = places.subarray(learn.length);
  const first = firstBlock(panel, plan.blocks);
  const byBlock = done.blocks.flatMap((part, b) => {
    const { scoreStart, scoreEnd } = blocks[b]!;
    if (b !== first && scoreStart === scoreEnd) return [];
    const { trainStart, trainEnd } = blocks[part.model]!;
    const from = plan.blocks[b]!.scoreStart;
    const predicted = predictionsAt(score.subarray(scoreStart, scoreEnd), part.predicted, from);
    return [{ ...part, train: [trainStart, trainEnd] as const, predicted }];
  });
  const folds = member.folds.map((own) => ({ ...own, from: plan.folds[own.fold]!.from }));
  const tested = (predictedBy: (fit: SplitPredictions) => Float64Array) =>
    concatenate(
      folds.map(({ fold, testStart, testEnd }) => {
        const fit = done.folds[fold]!;
        return predictionsAt(places.subarray(testStart, testEnd), predictedBy(fit), fit.from);
      }),
    );
  const groups = done.folds[0]?.permuted.length ?? 0;
  return forecastTicker(
    panel,
    {
      ...{ learn, folds, byBlock },
      tested: {
        predicted: tested(({ predicted }) => predicted),
        permuted: Array.from({ length: groups }, (_, g) => tested(({ permuted }) => permuted[g]!)),
      },
    },
    plan.blocks,
    {
      warnings: [...planWarnings(panel, folds, settings), ...absentOf(panel, union)],
      listed: listedOf(panel),
    },
  );
}

/** @param places rows of the matrix; @param from the row of the first prediction. */
function predictionsAt(places: Float64Array, predicted: Float64Array, from: number): Float64Array {
  return places.map((place) => predicted[place - from]!);
}

function pooledFit({ plan, union }: PooledFits, blocks: readonly BlockPredictions[]): PooledFit {
  // Sums follow the order of the matrix.
  const labels = new Float64Array(plan.fitRows);
  for (const { panel, places } of plan.members) {
    if (panel.joins !== undefined) continue;
    for (const [position, label] of fitLabels(panel).entries()) labels[places[position]!] = label;
  }
  return {
    fitRows: plan.fitRows,
    features: union.names.length,
    labelMean: mean(labels),
    foldRows: plan.folds.map(({ trainStart, trainEnd }) => trainEnd - trainStart),
    ...importancesOf(blocks, union.names),
  };
}
