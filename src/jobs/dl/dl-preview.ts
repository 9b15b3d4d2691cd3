import { type DlSettings, parseDlSettings } from "../../contract/config/dl-settings.ts";
import { recordsRefits } from "../../contract/config/refit-settings.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { intervalUnsupported, withoutResiduals } from "../../evaluate/intervals/conformal.ts";
import { type RefitBlock, refitBlocks } from "../../panel/refit-blocks.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import { hasScoreWindow, type WindowPlan } from "../../panel/window-plan.ts";
import type { PlannedJob, PlannedTicker, PreviewedConfig } from "../shared/job-preview.ts";
import { listedOfRows } from "../shared/listed-warnings.ts";
import { noRefit } from "../shared/refit-warnings.ts";
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
    plan: (panels) => planAll(panels, settings),
  };
}

/** The networks of a plan, without ensembles, and the values that the largest of them reads. */
interface Networks {
  readonly networks: number;
  readonly bytes: number;
}

function* planAll(panels: readonly PanelRows[], settings: DlSettings): Pausable<PlannedJob> {
  const blocks = refitBlocks(panels, settings.refitEvery);
  const planEither = settings.joint ? planJoint : planEach;
  const { networks, bytes, ...planned } = yield* planEither(panels, settings, blocks);
  if (!recordsRefits(settings) || !settings.enabled) return planned;
  const refits = { fits: networks * settings.ensemble, blocks: blocks.length, fit_bytes: bytes };
  return { ...planned, refits, warnings: noRefit(blocks, settings) };
}

function* planEach(
  panels: readonly PanelRows[],
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): Pausable<PlannedJob & Networks> {
  const { planned, failures } = yield* planTickerWindows(panels, settings, blocks);
  let networks = 0;
  for (const { rows } of planned) {
    yield 0;
    networks += blocks.filter(
      (_, b) => b === 0 || rows(b, b).some((own) => hasScoreWindow(own, settings.lookback)),
    ).length;
  }
  return {
    tickers: planned.map(({ panel, rows, windows }) => {
      const [{ fit }] = rows(0, 0) as [PanelRows];
      return plannedTicker({ panel, fitRows: fit.length }, windows, panel.warnings, settings);
    }),
    failures,
    networks,
    bytes: planned.reduce((most, { panel }) => Math.max(most, dataBytes([panel], panel.columns.length)), 0),
  };
}

function* planJoint(
  panels: readonly PanelRows[],
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): Pausable<PlannedJob & Networks> {
  const { plan, union, failures, rows } = yield* planJointWindows(panels, settings, blocks);
  const wholes = new Map(panels.map((panel) => [panel.ticker, panel]));
  const members = plan.members.map((member) => wholes.get(member.panel.ticker)!);
  const tickers = plan.members.map((member, j) => {
    const panel = members[j]!;
    const absent = union.warnings.filter(({ ticker }) => ticker === panel.ticker);
    const fitRows = member.panel.fit.length;
    return plannedTicker({ panel, fitRows }, member, [...panel.warnings, ...absent], settings);
  });
  const taking = new Set(members.map(({ ticker }) => ticker));
  const isTrained = (b: number) =>
    b === 0 || rows(b, b).some((own) => taking.has(own.ticker) && hasScoreWindow(own, settings.lookback));
  return {
    tickers,
    failures,
    networks: members.length === 0 ? 0 : blocks.filter((_, b) => isTrained(b)).length,
    bytes: dataBytes(members, union.names.length),
  };
}

/** Of each value the float64 of the file and the float32 that a network reads; of each row its place, its label and whether it has one. */
const [VALUE_BYTES, ROW_BYTES] = [8 + 4, 8 + 8 + 4 + 4];

function dataBytes(panels: readonly PanelRows[], features: number): number {
  const rows = panels.reduce((sum, { days }) => sum + days.length, 0);
  return rows * (VALUE_BYTES * features + ROW_BYTES);
}

/** @param fitRows that its network of the first block learns from. */
function plannedTicker(
  { panel, fitRows }: { readonly panel: PanelRows; readonly fitRows: number },
  { train, validate, calibrate }: Omit<WindowPlan, "score">,
  warnings: readonly Warning[],
  settings: DlSettings,
): PlannedTicker {
  const { ticker } = panel;
  const { intervals, lookback } = settings;
  const unsupported =
    intervals &&
    (calibrate.length === 0
      ? withoutResiduals(ticker)
      : intervalUnsupported(ticker, calibrate.length, intervals.alpha));
  const windows = {
    train: train.length,
    validate: validate.length,
    calibrate: calibrate.length,
    score: panel.score.filter((row) => row >= lookback - 1).length,
  };
  return {
    panel,
    counts: { windows },
    warnings: unsupported === undefined ? warnings : [...warnings, unsupported],
    listed: listedOfRows(ticker, { ...rowFacts(panel), fitRows }),
  };
}
