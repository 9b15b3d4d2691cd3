import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { numbersIn } from "../../contract/model-params/value-checks.ts";
import { unmetDemands } from "../../contract/model-params/value-rules.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { intervalUnsupported } from "../../evaluate/intervals/conformal.ts";
import { featureSpread } from "../../panel/feature-spread.ts";
import { type Fold, fewerFolds } from "../../panel/folds.ts";
import type { PanelRows, TickerPanel } from "../../panel/ticker-panel.ts";
import type { PlannedTicker } from "../plan.ts";
import type { Listed } from "../shared/job-warnings.ts";

export function planWarnings(
  { ticker, fit, warnings, joins }: PanelRows,
  folds: readonly Fold[],
  { cv_test_size: testSize, n_splits: asked, fit: kind, shrinkage }: MlSettings,
): readonly Warning[] {
  // `late_ticker` reports these.
  if (joins !== undefined) return warnings;
  const facts = { ticker, fitRows: fit.length, testSize, asked, got: folds.length, fit: kind };
  const fewer = fewerFolds({ ...facts, shrinks: shrinkage === "own" });
  return fewer === undefined ? warnings : [...warnings, fewer];
}

export function planTicker(
  panel: PanelRows,
  folds: readonly Fold[],
  settings: MlSettings,
  listed: readonly Listed[],
  absent: readonly Warning[] = [],
): PlannedTicker {
  const { intervals } = settings;
  const residuals = folds.reduce((sum, { testStart, testEnd }) => sum + testEnd - testStart, 0);
  const unsupported = intervals && intervalUnsupported(panel.ticker, residuals, intervals.alpha);
  const warnings = [...planWarnings(panel, folds, settings), ...absent];
  return {
    panel,
    counts: { folds: folds.length },
    warnings: unsupported === undefined ? warnings : [...warnings, unsupported],
    listed,
  };
}

/** Models whose penalty treats all coefficients alike, whatever the units of their features. */
const PENALISED: ReadonlySet<string> = new Set<MlSettings["model"]["name"]>([
  "ridge",
  "lasso",
  "elastic_net",
]);

/** Deviations that differ by no more than this factor count as one scale. */
const MAX_SPREAD = 10;

export function listedOfFeatures(panel: TickerPanel, settings: MlSettings): Listed[] {
  const { choice = { candidates: [{ settings }] } } = settings;
  const candidates = choice.candidates.map((candidate) => candidate.settings);
  const { ticker } = panel;
  const listed: Listed[] = [];
  const uncoded = new Set(candidates.flatMap((candidate) => uncodedCategories(panel, candidate)));
  if (uncoded.size > 0) listed.push({ code: "uncoded_categories", ticker, detail: [...uncoded].join(", ") });
  if (candidates.some(({ model, scaler }) => PENALISED.has(model.name) && scaler === "none")) {
    const spread = featureSpread(panel);
    const detail = `${Number(spread.toPrecision(2))} times`;
    if (spread > MAX_SPREAD) listed.push({ code: "unscaled_features", ticker, detail });
  }
  return listed;
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
