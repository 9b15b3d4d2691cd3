import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { unmetDemands } from "../../contract/model-params/column-demands.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { featureSpread } from "../../panel/feature-spread.ts";
import { type Fold, fewerFolds, walkForwardFolds } from "../../panel/folds.ts";
import type { PanelRows, TickerPanel } from "../../panel/ticker-panel.ts";
import type { Listed } from "../shared/listed-warnings.ts";

/** Half-open row range of a ticker's matrix, whose rows are the fit rows followed by the score rows. */
type RowRange = readonly [from: number, to: number];

/** One fit: which rows to learn from and which to predict. */
export interface PlannedFit {
  readonly train: RowRange;
  readonly predict: RowRange;
  /** Set for the final fit: the engine tells the importances of its features, and explains a constant forecast. */
  readonly diagnose?: true;
}

/** All fits of one ticker, in time order: its walk-forward folds, then the final fit on all fit rows. */
export interface FitPlan {
  readonly folds: readonly Fold[];
  readonly fits: readonly PlannedFit[];
}

/** Plans the fits of a ticker over its `fit` rows to learn from and its `score` rows to predict. */
export function planFits(
  { fit, score }: Pick<PanelRows, "fit" | "score">,
  { cvTestSize, nSplits }: Pick<MlSettings, "cvTestSize" | "nSplits">,
): FitPlan {
  const folds = walkForwardFolds(fit.length, cvTestSize, nSplits);
  const fits: PlannedFit[] = folds.map(({ trainEnd, testStart, testEnd }) => ({
    train: [0, trainEnd],
    predict: [testStart, testEnd],
  }));
  fits.push({ train: [0, fit.length], predict: [fit.length, fit.length + score.length], diagnose: true });
  return { folds, fits };
}

/** The warnings of a ticker before anything is fitted: those of its rows, then that of its folds. */
export function planWarnings(
  { ticker, fit, warnings }: PanelRows,
  folds: readonly Fold[],
  { cvTestSize: testSize, nSplits: asked, shrinkage }: MlSettings,
): readonly Warning[] {
  const [fitRows, got] = [fit.length, folds.length];
  const fewer = fewerFolds({ ticker, fitRows, testSize, asked, got, shrinks: shrinkage === "own" });
  return fewer === undefined ? warnings : [...warnings, fewer];
}

/** Models whose penalty weighs all coefficients alike, whatever the units of their features. */
const PENALISED: ReadonlySet<string> = new Set<MlSettings["model"]["name"]>([
  "ridge",
  "lasso",
  "elastic_net",
]);

/** Deviations that differ no more still count as one scale. */
const LARGEST_SPREAD = 10;

/** Lists a ticker for what its features show before anything is fitted. */
export function listedOfFeatures(panel: TickerPanel, { model, scaler }: MlSettings): Listed[] {
  if (!PENALISED.has(model.name) || scaler !== "none") return [];
  const spread = featureSpread(panel);
  if (spread <= LARGEST_SPREAD) return [];
  return [
    { code: "unscaled_features", ticker: panel.ticker, detail: `${Number(spread.toPrecision(2))} times` },
  ];
}

/** Tasks that a worker gets over a job: enough that at the end no worker waits long for the last task of another. */
const TASKS_PER_WORKER = 32;

/**
 * Cuts a ticker's fits into tasks of neighbours, each of about the same number of fits.
 * @param tickers about how many tickers the job has: the fewer, the finer the cut.
 */
export function cutFits(
  fits: readonly PlannedFit[],
  tickers: number,
  workers: number,
): (readonly PlannedFit[])[] {
  const size = Math.max(1, Math.round((tickers * fits.length) / (TASKS_PER_WORKER * workers)));
  const tasks: (readonly PlannedFit[])[] = [];
  for (let from = 0; from < fits.length; from += size) tasks.push(fits.slice(from, from + size));
  return tasks;
}

/**
 * The failure of a ticker that lacks a column which the model's arguments name. One ticker may lack a column that another
 * has, because features that are empty for a ticker are left out. The engine never gets such a ticker's matrix.
 */
export function refusedColumns(
  { ticker, columns }: Pick<PanelRows, "ticker" | "columns">,
  { columnDemands }: Pick<MlSettings, "columnDemands">,
): Failure | undefined {
  const unmet = unmetDemands(columnDemands, columns);
  return unmet.length === 0 ? undefined : { ticker, code: "invalid_model_params", message: unmet.join("; ") };
}
