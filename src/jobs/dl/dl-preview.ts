import { type DlSettings, parseDlSettings } from "../../contract/config/dl-settings.ts";
import { recordsRefits } from "../../contract/config/panel-settings.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { intervalUnsupported, withoutResiduals } from "../../evaluate/intervals/conformal.ts";
import type { JointMember, JointPlan } from "../../panel/joint-plan.ts";
import { hasLateForecasts } from "../../panel/late-ticker.ts";
import { firstBlock, type RefitBlock, type RowsByBlock } from "../../panel/refit-blocks.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import { hasScoreWindow, type WindowPlan } from "../../panel/window-plan.ts";
import type { PlannedJob, PlannedTicker, PreviewedConfig } from "../shared/job-preview.ts";
import { lateTicker, listedOfRows } from "../shared/listed-warnings.ts";
import { rowFacts } from "../shared/modelled-ticker.ts";
import { noRefit } from "../shared/ticker-warnings.ts";
import { planJointWindows, planOf } from "./plan-joint-network.ts";
import { planTickerWindows } from "./plan-ticker-networks.ts";

/** The warning of a config that is switched off. */
export const DISABLED: Warning = {
  code: "disabled",
  message: "config.NN params.Dot prediction.status is false: nothing was trained, and mu is empty.",
};

/** The config of run_dl_job, and the networks that the job would plan. @throws MucastError like run_dl_job. */
export function previewDl(config: string): PreviewedConfig {
  const { settings, warnings } = parseDlSettings(config);
  const { architecture, ...params } = settings.network;
  return {
    model: { name: architecture, params },
    warnings: settings.enabled ? warnings : [...warnings, DISABLED],
    trains: settings.enabled,
    panel: settings,
    listed: () => [],
    joinRule: settings.refitEvery === undefined ? undefined : () => ({ lookback: settings.lookback }),
    plan: (panels, late, blocks) => planAll([...panels, ...late], settings, blocks),
  };
}

/** The networks of a plan, without ensembles, and the number of values that the largest one reads. */
interface Networks {
  readonly networks: number;
  readonly bytes: number;
}

function planAll(
  panels: readonly PanelRows[],
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): PlannedJob {
  const planEither = settings.joint ? planJoint : planEach;
  const { networks, bytes, ...planned } = planEither(panels, settings, blocks);
  if (!recordsRefits(settings) || !settings.enabled) return planned;
  const refits = { fits: networks * settings.ensemble, blocks: blocks.length, fit_bytes: bytes };
  return { ...planned, refits, warnings: noRefit(blocks, settings) };
}

function planEach(
  panels: readonly PanelRows[],
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): PlannedJob & Networks {
  const { planned, failures } = planTickerWindows(panels, settings, blocks);
  let networks = 0;
  for (const { rows, first } of planned) {
    const isTrained = (b: number) => rows(b, b).some((own) => hasScoreWindow(own, settings.lookback));
    networks += blocks.filter((_, b) => b === first || (b > first && isTrained(b))).length;
  }
  return {
    tickers: planned.map(({ panel, rows, first, windows }) => {
      const [{ fit }] = rows(first, first) as [PanelRows];
      return plannedTicker({ panel, fitRows: fit.length }, windows, panel.warnings, settings);
    }),
    failures,
    networks,
    bytes: planned.reduce((most, { panel }) => Math.max(most, dataBytes([panel], panel.columns.length)), 0),
  };
}

function planJoint(
  panels: readonly PanelRows[],
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): PlannedJob & Networks {
  const { plan, joined, unionAt, failures, rows } = planJointWindows(panels, settings, blocks);
  const wholes = new Map([...panels, ...joined].map((panel) => [panel.ticker, panel]));
  const members = firstMembers(plan, joined, rows, blocks, settings);
  const tickers = members.map((member) => {
    const panel = wholes.get(member.panel.ticker)!;
    const absent = unionAt(firstBlock(panel, blocks)).warnings.filter(
      ({ ticker }) => ticker === panel.ticker,
    );
    const fitRows = member.panel.fit.length;
    return plannedTicker({ panel, fitRows }, member, [...panel.warnings, ...absent], settings);
  });
  const begins = new Set([0, ...joined.map((panel) => firstBlock(panel, blocks))]);
  const isTrained = (b: number) =>
    begins.has(b) || rows(b, b).some((own) => hasScoreWindow(own, settings.lookback));
  return {
    tickers: tickers.filter(
      ({ panel }) => panel.joins === undefined || hasLateForecasts(panel, settings.lookback),
    ),
    failures,
    networks: members.length === 0 ? 0 : blocks.filter((_, b) => isTrained(b)).length,
    bytes: dataBytes(
      tickers.map(({ panel }) => panel),
      unionAt(blocks.length - 1).names.length,
    ),
  };
}

/** Each ticker's part in its first network. */
function firstMembers(
  { members }: JointPlan<PanelRows>,
  joined: readonly PanelRows[],
  rows: RowsByBlock<PanelRows>,
  blocks: readonly RefitBlock[],
  settings: DlSettings,
): JointMember<PanelRows>[] {
  const found = [...members];
  const byBlock = Map.groupBy(joined, (panel) => firstBlock(panel, blocks));
  for (const [block, panels] of byBlock) {
    const names = new Set(panels.map(({ ticker }) => ticker));
    const own = planOf(rows(block, block), settings);
    found.push(...own.members.filter(({ panel }) => names.has(panel.ticker)));
  }
  return found;
}

/**
 * For each value, the float64 of the file and the float32 that a network reads; for each row, its position, its label and whether
 * it has one.
 */
const [VALUE_BYTES, ROW_BYTES] = [8 + 4, 8 + 8 + 4 + 4];

function dataBytes(panels: readonly PanelRows[], features: number): number {
  const rows = panels.reduce((sum, { days }) => sum + days.length, 0);
  return rows * (VALUE_BYTES * features + ROW_BYTES);
}

/** @param fitRows the number that its network of the first block learns from. */
function plannedTicker(
  { panel, fitRows }: { readonly panel: PanelRows; readonly fitRows: number },
  { train, validate, calibrate }: Omit<WindowPlan, "score">,
  warnings: readonly Warning[],
  settings: DlSettings,
): PlannedTicker {
  const { ticker, days, joins } = panel;
  const { intervals, lookback } = settings;
  const scoreRows = joins === undefined ? panel.score : panel.score.filter((row) => days[row]! >= joins);
  const unsupported =
    intervals === undefined || joins !== undefined
      ? undefined
      : calibrate.length === 0
        ? withoutResiduals(ticker)
        : intervalUnsupported(ticker, calibrate.length, intervals.alpha);
  const windows = {
    train: train.length,
    validate: validate.length,
    calibrate: calibrate.length,
    score: scoreRows.filter((row) => row >= lookback - 1).length,
  };
  return {
    panel: { ...panel, score: scoreRows },
    counts: { windows },
    warnings: unsupported === undefined ? warnings : [...warnings, unsupported],
    listed: [...listedOfRows(ticker, { ...rowFacts(panel), fitRows }), ...lateTicker(panel)],
  };
}
