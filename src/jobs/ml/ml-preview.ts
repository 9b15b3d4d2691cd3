import { type MlCandidates, type MlSettings, parseMlSettings } from "../../contract/config/ml-settings.ts";
import { recordsRefits } from "../../contract/config/panel-settings.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { intervalUnsupported } from "../../evaluate/intervals/conformal.ts";
import type { Fold } from "../../panel/folds.ts";
import { hasLateForecasts } from "../../panel/late-ticker.ts";
import { planPooled } from "../../panel/pooled-plan.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import type { PanelRows, TickerPanel } from "../../panel/ticker-panel.ts";
import type { ChoicePreview, PlannedJob, PlannedTicker, PreviewedConfig } from "../shared/job-preview.ts";
import { featuresOf } from "../shared/late-tickers.ts";
import { type Listed, lateTicker, listedOfRows } from "../shared/listed-warnings.ts";
import { rowFacts } from "../shared/modelled-ticker.ts";
import { noRefit } from "../shared/ticker-warnings.ts";
import { fitCount, withWarmUp } from "./candidates/fit-candidates.ts";
import { largestFit, listedOfPool, refusedTickers, unitePooled } from "./fit-pooled.ts";
import {
  type FitPlan,
  learnedRows,
  listedOfFeatures,
  planFits,
  planWarnings,
  refusedColumns,
} from "./plan-fits.ts";
import { matrixBytes } from "./pooled-matrix.ts";
import { workerBytes } from "./pooled-memory.ts";

/** The config of run_ml_job, and the fits that the job would plan. @throws MucastError like run_ml_job. */
export function previewMl(config: string): PreviewedConfig {
  const { settings, warnings } = parseMlSettings(config);
  return {
    model: { name: settings.model.name, params: settings.resolvedParams },
    warnings,
    trains: true,
    panel: settings,
    listed: (panel) => listedOfFeatures(panel, settings),
    joinRule:
      settings.refitEvery === undefined
        ? undefined
        : (panels) => (settings.fit === "pooled" ? { features: featuresOf(panels) } : {}),
    plan: (panels, late, blocks) => planAll(panels, late, settings, blocks),
  };
}

function planAll(
  panels: readonly PanelRows[],
  late: readonly TickerPanel[],
  settings: MlSettings,
  blocks: readonly RefitBlock[],
): PlannedJob {
  const isPooled = settings.fit === "pooled";
  const joined = late.filter((panel) => isPooled || hasLateForecasts(panel));
  const all: PreviewPanel[] = [...panels, ...joined.map((panel) => lateRows(panel, settings))];
  const { fits, ...plan } = isPooled ? planPool(all, settings, blocks) : planTickers(all, settings, blocks);
  const planned =
    settings.choice === undefined
      ? plan
      : { ...plan, choice: previewChoice(panels, settings.choice, blocks) };
  const warnings = noRefit(blocks, settings);
  if (!recordsRefits(settings)) return planned;
  return { ...planned, refits: { fits, blocks: blocks.length }, warnings };
}

function previewChoice(
  panels: readonly PanelRows[],
  choice: MlCandidates,
  blocks: readonly RefitBlock[],
): ChoicePreview {
  const settings = choice.candidates.map((candidate) => withWarmUp(candidate.settings, choice));
  return {
    candidates: settings.length,
    fits: settings.reduce((sum, own) => sum + fitCount(panels, own, blocks), 0),
  };
}

/** The listings of late tickers' features are made when the tickers join. */
type PreviewPanel = PanelRows & { readonly shown?: readonly Listed[] };

function lateRows(panel: TickerPanel, settings: MlSettings): PreviewPanel {
  const { x: _, ...rows } = panel;
  if (settings.fit === "pooled") return rows;
  // A preview computes no z-scores.
  const columns = panel.columns.slice(0, panel.columns.length - (panel.zScores ?? 0));
  return { ...rows, shown: listedOfFeatures({ ...panel, columns }, settings) };
}

type Planned = PlannedJob & { readonly fits: number };

function planTickers(
  panels: readonly PreviewPanel[],
  settings: MlSettings,
  blocks: readonly RefitBlock[],
): Planned {
  const tickers: PlannedTicker[] = [];
  const failures: Failure[] = [];
  let fits = 0;
  for (const panel of panels) {
    const refused = refusedColumns(panel, settings);
    if (refused === undefined) {
      const plan = planFits(panel, settings, blocks);
      tickers.push(planTicker(panel, plan, settings));
      fits += plan.fits.length + plan.refits.length;
    } else failures.push(refused);
  }
  return { tickers, failures, fits };
}

function planTicker(panel: PreviewPanel, { folds }: FitPlan, settings: MlSettings): PlannedTicker {
  const facts = learnedRows(panel, settings);
  const listed = [...listedOfRows(panel.ticker, facts, folds), ...(panel.shown ?? []), ...lateTicker(panel)];
  return plannedTicker(panel, folds, settings, listed);
}

function planPool(
  panels: readonly PanelRows[],
  settings: MlSettings,
  blocks: readonly RefitBlock[],
): Planned {
  const plan = planPooled(panels, settings, blocks);
  const union = unitePooled(plan);
  const columns = union.names.length;
  const failures = refusedTickers(panels, union, settings);
  if (failures.length === panels.length) return { tickers: [], failures, fits: 0 };
  return {
    fits: plan.folds.length + plan.blocks.length,
    tickers: plan.members
      .filter(({ panel }) => panel.joins === undefined || hasLateForecasts(panel))
      .map(({ panel, folds }) => {
        const absent = union.warnings.filter(({ ticker }) => ticker === panel.ticker);
        const facts = { ...rowFacts(panel), features: 0 };
        const listed = [...listedOfRows(panel.ticker, facts), ...lateTicker(panel)];
        return plannedTicker(panel, folds, settings, listed, absent);
      }),
    failures: [],
    listed: listedOfPool(plan, columns),
    pooled: {
      rows: plan.learnRows + plan.scoreRows,
      fit_rows: plan.fitRows,
      columns,
      bytes: matrixBytes(plan, columns),
      fit_bytes: workerBytes(
        { rows: largestFit(plan), columns, hasAbsent: union.warnings.length > 0 },
        settings,
      ),
      folds: plan.folds.length,
    },
  };
}

function plannedTicker(
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
