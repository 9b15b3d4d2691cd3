import { type DlSettings, parseDlSettings } from "../../contract/config/dl-settings.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { intervalUnsupported, withoutResiduals } from "../../evaluate/intervals/conformal.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import type { WindowPlan } from "../../panel/window-plan.ts";
import type { PlannedTicker, PreviewedConfig } from "../shared/job-preview.ts";
import { listedOfRows } from "../shared/listed-warnings.ts";
import { rowFacts } from "../shared/row-facts.ts";
import { planJointWindows } from "./plan-joint-network.ts";
import { planTickerWindows } from "./plan-ticker-networks.ts";
import { DISABLED } from "./read-and-train.ts";

/** The config of run_dl_job, and the networks that the job would plan. @throws MucastError as run_dl_job does. */
export function previewDl(config: string): PreviewedConfig {
  const { settings, warnings } = parseDlSettings(config);
  const { architecture, ...params } = settings.network;
  return {
    model: { name: architecture, params },
    warnings: settings.enabled ? warnings : [...warnings, DISABLED],
    trains: settings.enabled,
    panel: settings,
    listed: () => [],
    plan: (panels) => (settings.joint ? planJoint(panels, settings) : planEach(panels, settings)),
  };
}

function* planEach(panels: readonly PanelRows[], settings: DlSettings): ReturnType<PreviewedConfig["plan"]> {
  const { planned, failures } = yield* planTickerWindows(panels, settings);
  const tickers = planned.map(({ panel, windows }) =>
    plannedTicker(panel, windows, panel.warnings, settings),
  );
  return { tickers, failures };
}

function* planJoint(panels: readonly PanelRows[], settings: DlSettings): ReturnType<PreviewedConfig["plan"]> {
  const { plan, union, failures } = yield* planJointWindows(panels, settings);
  const tickers = plan.members.map((member) => {
    const { panel } = member;
    const absent = union.warnings.filter(({ ticker }) => ticker === panel.ticker);
    return plannedTicker(panel, member, [...panel.warnings, ...absent], settings);
  });
  return { tickers, failures };
}

function plannedTicker(
  panel: PanelRows,
  { train, validate, calibrate, score }: WindowPlan,
  warnings: readonly Warning[],
  { intervals }: DlSettings,
): PlannedTicker {
  const { ticker } = panel;
  const unsupported =
    intervals &&
    (calibrate.length === 0
      ? withoutResiduals(ticker)
      : intervalUnsupported(ticker, calibrate.length, intervals.alpha));
  const windows = {
    train: train.length,
    validate: validate.length,
    calibrate: calibrate.length,
    score: score.length,
  };
  return {
    panel,
    counts: { windows },
    warnings: unsupported === undefined ? warnings : [...warnings, unsupported],
    listed: listedOfRows(ticker, rowFacts(panel)),
  };
}
