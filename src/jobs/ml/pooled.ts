import { join } from "node:path";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { removeArray } from "../../engine/npy.ts";
import type { RunOptions } from "../../engine/pool/pool.ts";
import type { FitPredictResult, FitPredictTask } from "../../engine/pool/protocol.ts";
import { mean } from "../../evaluate/statistics.ts";
import { type FeatureUnion, uniteFeatures } from "../../panel/feature-union.ts";
import { type PooledMember, type PooledPlan, planPooled } from "../../panel/pooled-plan.ts";
import { firstBlock, type RefitBlock } from "../../panel/refit-blocks.ts";
import { fitLabels } from "../../panel/ticker-panel.ts";
import type { FitOutcome, FitPlan, FitRun } from "../plan.ts";
import { plain } from "../shared/job-document.ts";
import { fewRows, type Listed, lateTicker, listedOfRows } from "../shared/job-warnings.ts";
import { type ModelledTicker, rowFacts } from "../shared/modelled-ticker.ts";
import { type FitPanel, isForecast } from "../shared/panels.ts";
import { countFitsAtATime, estimateFits, workerBytes } from "./fit-estimates.ts";
import {
  type BlockFit,
  type FitResults,
  fitWarnings,
  forecastTicker,
  importancesOf,
  type MatrixFits,
  type PlannedFit,
  runFits,
  taskRunner,
} from "./fits.ts";
import { groupFeatures, importanceOf, shufflePooled } from "./importance.ts";
import { planTicker, planWarnings, refusedColumns } from "./plan-warnings.ts";
import { matrixBytes, writePooledMatrix } from "./pooled-matrix.ts";

const POOLED = "pooled";

/** The rows of all tickers and the fits on them, which do not depend on the regressor. */
interface PooledFits extends MatrixFits {
  readonly plan: PooledPlan<FitPanel>;
  readonly union: FeatureUnion;
  /** Of the largest fit. */
  readonly size: Parameters<typeof workerBytes>[0];
  readonly n_splits: number;
}

/** Candidates of a job share the rows of the same panels, and everything but the regressor. */
const PLANNED = new WeakMap<readonly FitPanel[], PooledFits>();

function planFits(
  panels: readonly FitPanel[],
  settings: MlSettings,
  jobBlocks: readonly RefitBlock[],
): PooledFits {
  const { n_splits } = settings;
  const found = PLANNED.get(panels);
  if (found?.n_splits === n_splits) return found;
  const plan = planPooled(panels, settings, jobBlocks);
  const folds = plan.folds.map(
    ({ trainStart, trainEnd, testEnd }): PlannedFit => ({
      train: [trainStart, trainEnd],
      predict: [trainEnd, testEnd],
    }),
  );
  const blocks = plan.blocks.map(
    ({ trainStart, trainEnd, scoreStart, scoreEnd }, block): BlockFit => ({
      block,
      train: [trainStart, trainEnd],
      predict: [scoreStart, scoreEnd],
      diagnose: true,
    }),
  ) as [BlockFit, ...BlockFit[]];
  const members = plan.members.map(({ panel }) => panel);
  const union = uniteFeatures(members, "each fit uses the mean of the others");
  const rows = [...folds, ...blocks].reduce((most, { train }) => Math.max(most, countRows(train)), 0);
  const size = { rows, columns: union.names.length, hasAbsent: union.warnings.length > 0 };
  const fits = { plan, union, size, folds, blocks, n_splits };
  PLANNED.set(panels, fits);
  return fits;
}

const countRows = ([from, to]: PlannedFit["train"]) => to - from;

export function planPooledFits(
  panels: readonly FitPanel[],
  settings: MlSettings,
  jobBlocks: readonly RefitBlock[],
): FitPlan {
  const fits = planFits(panels, settings, jobBlocks);
  const { plan, union, size, folds, blocks } = fits;
  const { columns } = size;
  const refused = refusedColumns({ ticker: POOLED, columns: union.names }, settings);
  // Without fit rows, every ticker has failed, or is late and keeps the failure of the cut.
  if (plan.fitRows === 0 || refused !== undefined) {
    const failed = plan.fitRows === 0 ? [] : panels.filter(isForecast);
    const failures = failed.map(({ ticker }) => ({ ...refused!, ticker }));
    const none = { tickers: [], failures: [], warnings: [], listed: [] };
    const estimate = estimateFits(settings, []);
    return { tickers: [], failures, fits: 0, steps: 0, estimate, collect: async () => none };
  }
  const rows = [...folds, ...blocks].map(({ train }) => countRows(train));
  return {
    tickers: plan.members
      .filter(({ panel }) => isForecast(panel))
      .map(({ panel, folds: own }) =>
        planTicker(panel, own, settings, listedOf(panel), absentOf(panel, union)),
      ),
    ...{ failures: [], fits: settings.ensemble * rows.length, steps: rows.length },
    listed: listedOfPool(fits),
    estimate: estimateFits(
      settings,
      rows.map((own) => ({ rows: own, columns })),
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
    collect: (run) => fitPooled(fits, settings, run),
  };
}

/** One regressor learns from all rows, so a ticker's own rows are never too few for the features. */
function listedOf(panel: FitPanel): Listed[] {
  const facts = { ...rowFacts(panel), features: 0 };
  return [...listedOfRows(panel.ticker, facts), ...panel.listed, ...lateTicker(panel)];
}

function absentOf({ ticker }: FitPanel, { warnings }: FeatureUnion) {
  return warnings.filter((warning) => warning.ticker === ticker);
}

/** Lists the fit of all tickers if their rows together are too few for the features. */
function listedOfPool({ plan, blocks, union: { names } }: PooledFits): Listed[] {
  const ranges = plan.folds.map((fold) => ({ ...fold, testStart: fold.trainEnd }));
  return fewRows(POOLED, countRows(blocks[0].train), names.length, ranges);
}

/**
 * Fits one regressor on the rows of all tickers: every fold, and the models of all blocks. Each fit is a task; as many run at a time as
 * workers and memory allow.
 * @throws MucastError out_of_memory, before anything is fitted, if the largest fit would not fit into the memory; fit_failed or
 *   engine_crashed if any fit fails, because all tickers depend on it; output_failed if the work folder's disk is full.
 */
async function fitPooled(fits: PooledFits, settings: MlSettings, run: FitRun): Promise<FitOutcome> {
  const { plan, union, blocks } = fits;
  const { workFolder, timings, signal, report } = run;
  const panels = plan.members.map(({ panel }) => panel);
  const groups = settings.importance ? groupFeatures(panels, true) : [];
  const runTask = limitTasks(fits, settings, run);
  const { x, y } = writePooledMatrix(plan, union, workFolder);
  if (run.isLast) for (const panel of panels) removeArray(panel.x.ref);
  const shuffle = groups.length === 0 ? undefined : shufflePooled(plan, groups, union.names, workFolder);
  const folds = fits.folds.map((fold) => shuffle?.withPool(fold) ?? fold);
  let done = 0;
  const progress = () =>
    report({ kind: "progress", stage: "fit", done, total: folds.length + blocks.length });
  progress();
  const { estimator, scaler } = settings;
  const results = await runFits(
    { folds, blocks },
    1,
    signal,
    taskRunner({
      ...{ columns: union.names, groups: groups.length, run: runTask },
      task: {
        ...{ task: "fit_predict", estimator, scaler, x, y, views: true },
        ...(union.warnings.length > 0 ? { absent: true } : {}),
        ...(shuffle && { permutation: shuffle.permutation }),
      },
      labelOf: (fit) => {
        if (!("block" in fit)) return `${POOLED}, fold ${folds.indexOf(fit) + 1}`;
        return fit.block === 0 ? POOLED : `${POOLED}, refit`;
      },
      pathOf: (task) => join(workFolder, `pooled-p${task}.npy`),
      placeOf: (row) => placeOf(plan, row),
      onFit: (seconds) => {
        timings.add(POOLED, seconds);
        done++;
        progress();
      },
    }),
  );
  timings.finishAll();
  for (const { ref } of [x, y, ...(shuffle ? [shuffle.permutation.strata] : [])]) removeArray(ref);
  if (results instanceof MucastError) throw results;
  const { importances, lastImportances } = importancesOf(results.blocks, union.names);
  const labels = new Float64Array(plan.fitRows);
  for (const { panel, places } of plan.members)
    if (panel.joins === undefined)
      for (const [position, label] of fitLabels(panel).entries()) labels[places[position]!] = label;
  const tickers = plan.members
    .filter(({ panel }) => isForecast(panel))
    .map((member) => forecastMember(member, fits, results, settings));
  return {
    tickers,
    failures: [],
    pooled: {
      fit_rows: plan.fitRows,
      features: union.names.length,
      label_mean: mean(labels),
      fold_rows: fits.folds.map(({ train }) => countRows(train)),
      ...(importances && { importances: plain(importances) }),
    },
    ...(lastImportances && { lastImportances }),
    blockRows: results.blocks.map(({ train }) => countRows(train)),
    ...(shuffle && { importance: importanceOf(tickers, groups, shuffle.form) }),
    listed: listedOfPool(fits),
    warnings: fitWarnings(results, POOLED),
  };
}

/** The engine process of a node with its libraries, which has its own copy of the matrix in memory. */
const NODE_ENGINE_BYTES = 128 * 2 ** 20;

/** Runs tasks as there is memory for them. @throws MucastError out_of_memory if there is not enough for the largest fit. */
function limitTasks(
  { size, plan }: PooledFits,
  settings: MlSettings,
  { pool, memoryLimit: limit }: FitRun,
): (task: FitPredictTask, options: RunOptions<FitPredictTask>) => Promise<FitPredictResult> {
  if (limit === undefined) {
    const memoryBytes = matrixBytes(plan, size.columns) + NODE_ENGINE_BYTES + workerBytes(size, settings);
    return (task, options) => pool.run(task, { ...options, memoryBytes });
  }
  const most = countFitsAtATime(size, settings, { limit, held: pool.heldBytes() });
  const running = new Set<Promise<unknown>>();
  return async (task, options) => {
    while (running.size >= most) await Promise.race(running);
    const result = pool.run(task, options);
    const end = () => running.delete(ended);
    const ended: Promise<boolean> = result.then(end, end);
    running.add(ended);
    return await result;
  };
}

function placeOf({ members }: PooledPlan, row: number) {
  const { panel, learn, places } = members.find((member) => member.places.includes(row))!;
  const day = panel.days[[...learn, ...panel.score][places.indexOf(row)]!]!;
  return { ticker: panel.ticker, day };
}

function forecastMember(
  { panel, learn, places, blocks, folds: tested }: PooledMember<FitPanel>,
  { plan, union }: PooledFits,
  results: FitResults,
  settings: MlSettings,
): ModelledTicker {
  const score = places.subarray(learn.length);
  const first = firstBlock(panel, plan.blocks);
  const scored = results.blocks.flatMap((own, b) => {
    const { scoreStart, scoreEnd } = blocks[b]!;
    if (b !== first && scoreStart === scoreEnd) return [];
    const { trainStart, trainEnd } = blocks[own.model]!;
    const from = plan.blocks[b]!.scoreStart;
    const predicted = score.subarray(scoreStart, scoreEnd).map((place) => own.predicted[place - from]!);
    return [{ ...own, train: [trainStart, trainEnd] as const, predicted }];
  });
  const folds = tested.map((own) => ({ ...own, from: plan.folds[own.fold]!.from }));
  const predictions = {
    ...{ learn, folds, scored },
    tested: folds.map(({ fold, testStart, testEnd }) => {
      const { predicted, permuted } = results.folds[fold]!;
      const from = plan.folds[fold]!.trainEnd;
      const at = (values: Float64Array) =>
        places.subarray(testStart, testEnd).map((place) => values[place - from]!);
      return { predicted: at(predicted), permuted: permuted.map(at) };
    }),
  };
  return forecastTicker(panel, predictions, plan.blocks, {
    warnings: [...planWarnings(panel, folds, settings), ...absentOf(panel, union)],
    listed: listedOf(panel),
  });
}
