import type { MlSettings } from "../../contract/config/ml-settings.ts";
import type { Warning } from "../../contract/errors/warnings.ts";
import { unmetDemands } from "../../contract/model-params/column-demands.ts";
import type { Failure } from "../../contract/output/output-blob.ts";
import { type Fold, fewerFolds, walkForwardFolds } from "../../panel/folds.ts";
import type { PanelRows, TickerPanel } from "../../panel/ticker-panel.ts";

/** Half-open row range of a ticker's matrix, whose rows are the fit rows followed by the score rows. */
export type RowRange = readonly [from: number, to: number];

/** One fit: which rows to learn from and which to predict. */
export interface PlannedFit {
  readonly train: RowRange;
  readonly predict: RowRange;
  /** Set for the final fit: a constant forecast is explained. */
  readonly diagnose?: true;
}

/** All fits of one ticker, in time order: its walk-forward folds, then the final fit on all fit rows. */
export interface FitPlan {
  readonly folds: readonly Fold[];
  readonly fits: readonly PlannedFit[];
}

/** Plans a ticker's fits over `fitRows` rows to learn from and `scoreRows` rows to predict. */
export function planFits(fitRows: number, scoreRows: number, testSize: number, nSplits: number): FitPlan {
  const folds = walkForwardFolds(fitRows, testSize, nSplits);
  const fits: PlannedFit[] = folds.map(({ trainEnd, testStart, testEnd }) => ({
    train: [0, trainEnd],
    predict: [testStart, testEnd],
  }));
  fits.push({ train: [0, fitRows], predict: [fitRows, fitRows + scoreRows], diagnose: true });
  return { folds, fits };
}

/** What is known of a ticker before anything is fitted: the warnings of its rows, then that of its folds. */
export function planWarnings(
  { ticker, fit, warnings }: Pick<TickerPanel, "ticker" | "fit" | "warnings">,
  folds: number,
  { cvTestSize: testSize, nSplits: asked }: MlSettings,
): readonly Warning[] {
  const fewer = fewerFolds({ ticker, fitRows: fit.length, testSize, asked, got: folds });
  return fewer === undefined ? warnings : [...warnings, fewer];
}

/** Tasks a worker should get over a job, so that the last ones to end leave the other workers little to wait for. */
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
 * A ticker whose columns are not those that the model's arguments speak of: features that are empty for it are left
 * out, so that one ticker may lack a column that another has. Its matrix never reaches a library.
 */
export function refusedColumns(
  { ticker, columns }: Pick<PanelRows, "ticker" | "columns">,
  { columnDemands }: Pick<MlSettings, "columnDemands">,
): Failure | undefined {
  const unmet = unmetDemands(columnDemands, columns);
  return unmet.length === 0 ? undefined : { ticker, code: "invalid_model_params", message: unmet.join("; ") };
}
