import { type MlSettings, parseMlSettings } from "../../contract/config/ml-settings.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import { intervalUnsupported } from "../../evaluate/intervals/conformal.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import type { PlannedTicker, PreviewedConfig } from "../shared/job-preview.ts";
import { listedOfRows } from "../shared/listed-warnings.ts";
import { rowFacts } from "../shared/row-facts.ts";
import { listedOfFeatures, planFits, planWarnings, refusedColumns } from "./plan-fits.ts";

/** The config of run_ml_job, and the fits that the job would plan. @throws MucastError as run_ml_job does. */
export function previewMl(config: string): PreviewedConfig {
  const { settings, warnings } = parseMlSettings(config);
  return {
    model: { name: settings.model.name, params: settings.resolvedParams },
    warnings,
    trains: true,
    listed: (panel) => listedOfFeatures(panel, settings),
    plan: (panels) => planTickers(panels, settings),
  };
}

function* planTickers(
  panels: readonly PanelRows[],
  settings: MlSettings,
): ReturnType<PreviewedConfig["plan"]> {
  const tickers: PlannedTicker[] = [];
  const failures: Failure[] = [];
  for (const panel of panels) {
    const refused = refusedColumns(panel, settings);
    if (refused === undefined) tickers.push(planTicker(panel, settings));
    else failures.push(refused);
    yield 0;
  }
  return { tickers, failures };
}

function planTicker(panel: PanelRows, settings: MlSettings): PlannedTicker {
  const { cvTestSize, intervals } = settings;
  const { folds } = planFits(panel, settings);
  const residuals = folds.length * cvTestSize;
  const unsupported = intervals && intervalUnsupported(panel.ticker, residuals, intervals.alpha);
  const warnings = planWarnings(panel, folds, settings);
  return {
    panel,
    counts: { folds: folds.length },
    warnings: unsupported === undefined ? warnings : [...warnings, unsupported],
    listed: listedOfRows(panel.ticker, rowFacts(panel), folds),
  };
}
