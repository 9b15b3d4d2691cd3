import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { unmetDemands } from "../../contract/model-params/column-demands.ts";
import { numbersIn } from "../../contract/model-params/value-checks.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { featureSpread } from "../../panel/feature-spread.ts";
import { type Fold, fewerFolds, walkForwardFolds } from "../../panel/folds.ts";
import { firstBlock, ONE_BLOCK, type RefitBlock, tickerBlocks } from "../../panel/refit-blocks.ts";
import type { PanelRows, TickerPanel } from "../../panel/ticker-panel.ts";
import type { Listed } from "../shared/listed-warnings.ts";
import { type RowFacts, rowFacts } from "../shared/modelled-ticker.ts";

/** Half-open row range of a matrix, whose rows are those that some fit learns from, followed by the score rows. */
export type RowRange = readonly [from: number, to: number];

/** One fit: which rows to learn from and which to predict. */
export interface PlannedFit {
  readonly train: RowRange;
  readonly predict: RowRange;
  /** Also predicts its rows with features of random rows of this range, which contains them. */
  readonly pool?: RowRange;
  /** Set for fits that predict score rows: the engine reports the importances of their features, and explains a constant forecast. */
  readonly diagnose?: true;
}

/** The fit of a block of score rows after the first. */
export interface PlannedRefit extends PlannedFit {
  readonly block: number;
}

/** All fits of one ticker, in time order. */
export interface FitPlan {
  readonly folds: readonly Fold[];
  /** The fits of these folds, then the one on all fit rows, which predicts the score rows of the ticker's first block. */
  readonly fits: readonly PlannedFit[];
  /** The block of the last of them; number 0 except for late tickers. */
  readonly first: number;
  /** The fits of the later blocks in which the ticker has score rows. */
  readonly refits: readonly PlannedRefit[];
  /** Shape (n), rows of the panel: those that the fits learn from, which are the first rows of the matrix. */
  readonly learn: Int32Array;
}

/** Plans the fits of a ticker, which learn from its `fit` rows and predict its `score` rows. A late ticker has no folds. */
export function planFits(
  panel: Pick<PanelRows, "days" | "labelDays" | "y" | "relative" | "fit" | "score" | "joins">,
  settings: Pick<MlSettings, "cvTestSize" | "nSplits" | "delay" | "window">,
  jobBlocks: readonly RefitBlock[] = ONE_BLOCK,
): FitPlan {
  const { fit, days, labelDays } = panel;
  const { window } = settings;
  const { learn, blocks } = tickerBlocks(panel, jobBlocks);
  const start = firstBlock(panel, jobBlocks);
  const known = { days: fit.map((row) => days[row]!), labelDays: fit.map((row) => labelDays[row]!) };
  const folds = panel.joins === undefined ? walkForwardFolds(known, settings) : [];
  const fits: PlannedFit[] = folds.map(({ trainStart, trainEnd, testStart, testEnd }) => ({
    train: [trainStart, trainEnd],
    predict: [testStart, testEnd],
  }));
  const planned = blocks.map(({ learnEnd, scoreStart, scoreEnd }, block) => ({
    block,
    train: [window === undefined ? 0 : Math.max(0, learnEnd - window), learnEnd] as const,
    predict: [learn.length + scoreStart, learn.length + scoreEnd] as const,
  }));
  const [first, ...later] = planned.slice(start);
  const { block: _, ...firstFit } = first!;
  fits.push({ ...firstFit, diagnose: true });
  const refits = later.flatMap((fit) => (isEmpty(fit.predict) ? [] : [{ ...fit, diagnose: true as const }]));
  return { folds, fits, first: start, refits, learn };
}

function isEmpty([from, to]: RowRange): boolean {
  return from === to;
}

/** The warnings of a ticker before anything is fitted: first of its rows, then of its folds. */
export function planWarnings(
  { ticker, fit, warnings, joins }: PanelRows,
  folds: readonly Fold[],
  { cvTestSize: testSize, nSplits: asked, fit: kind, shrinkage }: MlSettings,
): readonly Warning[] {
  // `late_ticker` reports these.
  if (joins !== undefined) return warnings;
  const facts = { ticker, fitRows: fit.length, testSize, asked, got: folds.length, fit: kind };
  const fewer = fewerFolds({ ...facts, shrinks: shrinkage === "own" });
  return fewer === undefined ? warnings : [...warnings, fewer];
}

/** Models whose penalty treats all coefficients alike, whatever the units of their features. */
const PENALISED: ReadonlySet<string> = new Set<MlSettings["model"]["name"]>([
  "ridge",
  "lasso",
  "elastic_net",
]);

/** Deviations that differ by no more than this factor count as one scale. */
const MAX_SPREAD = 10;

/** Lists a ticker for what its features show before anything is fitted. */
export function listedOfFeatures(panel: TickerPanel, settings: MlSettings): Listed[] {
  const { choice = { candidates: [{ settings }] } } = settings;
  const candidates = choice.candidates.map((candidate) => candidate.settings);
  const { ticker } = panel;
  const uncoded = new Set(candidates.flatMap((candidate) => uncodedCategories(panel, candidate)));
  const listed: Listed[] =
    uncoded.size === 0 ? [] : [{ code: "uncoded_categories", ticker, detail: [...uncoded].join(", ") }];
  if (!candidates.some(dependsOnUnits)) return listed;
  const spread = featureSpread(panel);
  if (spread <= MAX_SPREAD) return listed;
  return [...listed, { code: "unscaled_features", ticker, detail: `${Number(spread.toPrecision(2))} times` }];
}

/** The names of the features that lightgbm reads as categories and that are not 0, 1, 2, … on the fit rows. */
function uncodedCategories({ columns, x, fit }: TickerPanel, { estimator, scaler }: MlSettings): string[] {
  if (estimator.library !== "lightgbm") return [];
  const isCode = (value: number) => value >= 0 && Number.isInteger(value);
  const isCoded = (column: number) => fit.every((row) => isCode(x[row * columns.length + column]!));
  return numbersIn(estimator.params.categorical_feature)
    .filter((column) => column < columns.length && (scaler !== "none" || !isCoded(column)))
    .map((column) => columns[column]!);
}

function dependsOnUnits({ model, scaler }: MlSettings): boolean {
  return PENALISED.has(model.name) && scaler === "none";
}

/** The number of tasks per worker over a job: enough that at the end no worker waits long for the last task of another. */
const TASKS_PER_WORKER = 32;

/**
 * The number of fits per task, so that each task has about the same number.
 * @param fits of a ticker.
 * @param tickers approximate number in the job; fewer tickers make smaller tasks.
 */
export function fitsPerTask(fits: number, tickers: number, workers: number): number {
  return Math.max(1, Math.round((tickers * fits) / (TASKS_PER_WORKER * workers)));
}

/** Divides a ticker's fits into tasks of neighbours. */
export function cutFits<F extends PlannedFit>(fits: readonly F[], size: number): (readonly F[])[] {
  const tasks: (readonly F[])[] = [];
  for (let from = 0; from < fits.length; from += size) tasks.push(fits.slice(from, from + size));
  return tasks;
}

/**
 * The failure of a ticker that lacks a column named in the model's arguments. One ticker may lack a column that another has, because
 * features that are empty for a ticker are dropped. The engine never gets such a ticker's matrix.
 */
export function refusedColumns(
  { ticker, columns }: Pick<PanelRows, "ticker" | "columns">,
  { columnDemands }: Pick<MlSettings, "columnDemands">,
): Failure | undefined {
  const unmet = unmetDemands(columnDemands, columns);
  return unmet.length === 0 ? undefined : { ticker, code: "invalid_model_params", message: unmet.join("; ") };
}

/** The facts of a ticker's rows, with as many fit rows as its fit learns from. */
export function learnedRows(panel: PanelRows, { window }: Pick<MlSettings, "window">): RowFacts {
  const facts = rowFacts(panel);
  return { ...facts, fitRows: Math.min(facts.fitRows, window ?? facts.fitRows) };
}
