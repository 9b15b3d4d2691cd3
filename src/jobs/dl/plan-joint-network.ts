import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { checkNetworkSize } from "../../contract/config/networks/networks.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { type FeatureUnion, uniteFeatures } from "../../panel/feature-union.ts";
import { type JointPlan, planJoint } from "../../panel/joint-plan.ts";
import { hasLateForecasts, hasTrainingWindows, joiningAt } from "../../panel/late-ticker.ts";
import {
  firstBlock,
  ONE_BLOCK,
  type RefitBlock,
  type RowsByBlock,
  rowsByBlock,
} from "../../panel/refit-blocks.ts";
import { MIN_DATE_TICKERS } from "../../panel/relative-target.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import { failuresWithout } from "../shared/late-tickers.ts";
import type { PanelOnDisk } from "../shared/panel-files.ts";
import { JointNetwork } from "./joint-network.ts";
import type { NetworkPlan, PlannedNetwork } from "./planned-network.ts";

/** A planned joint network. */
interface JointWindows<P extends PanelRows> {
  /** The plan of the first block. */
  readonly plan: JointPlan<P>;
  /** Late tickers that join, each with `joins`. */
  readonly joined: readonly P[];
  readonly failures: readonly Failure[];
  /** The panels of the tickers that take part in a network: those of the first block, and those that have joined by the block that it learns from. */
  readonly rows: RowsByBlock<P>;
  /** The features of the tickers that take part in the network of a block. */
  unionAt(block: number): FeatureUnion & { readonly tickers: readonly string[] };
}

/**
 * Which tickers take part in the joint network of each block, on which dates, and with which features. A ticker that cannot take part at
 * first joins at the first block whose network can train on enough of its labels.
 * @param panels also those that join late.
 * @throws MucastError invalid_request if a network is too large for the features of all; insufficient_history if early stopping
 * monitors the IC and no validation date has enough labels for one.
 */
export function planJointWindows<P extends PanelRows>(
  panels: readonly P[],
  settings: DlSettings,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
): JointWindows<P> {
  const { window, lookback } = settings;
  const early = panels.filter(({ joins }) => joins === undefined);
  const plan = planOf(rowsByBlock(early, blocks, window)(0, 0), settings);
  const names = new Set(plan.members.map(({ panel }) => panel.ticker));
  const first = early.filter(({ ticker }) => names.has(ticker));
  const joined: P[] = [];
  let waiting = names.size === 0 ? [] : panels.filter(({ ticker }) => !names.has(ticker));
  for (const [block, { known }] of blocks.entries()) {
    if (known === undefined) continue;
    const candidates = waiting
      .filter(({ joins = known }) => joins <= known)
      .map((panel) => (panel.joins === known ? panel : joiningAt(panel, known)))
      .filter((panel) => hasTrainingWindows(panel, lookback));
    const taking = joiningMembers([...first, ...joined], candidates, block, settings, blocks);
    joined.push(...taking);
    const left = new Set(taking.map(({ ticker }) => ticker));
    waiting = waiting.filter(({ ticker }) => !left.has(ticker));
  }
  const all = [...first, ...joined];
  const rows = rowsByBlock(all, blocks, window);
  const rowsOf: RowsByBlock<P> = (learned, scored) =>
    rows(learned, scored).filter((panel) => firstBlock(panel, blocks) <= learned);
  const unionAt = (block: number) => {
    const taking = all.filter((panel) => firstBlock(panel, blocks) <= block);
    const features = taking.map(({ ticker, columns }) => ({ ticker, columns }));
    return { ...uniteFeatures(features), tickers: taking.map(({ ticker }) => ticker) };
  };
  for (const block of new Set([0, ...joined.map((panel) => firstBlock(panel, blocks))])) {
    const union = unionAt(block);
    if (union.tickers.length > 0) checkNetworkSize(settings, union.names.length, union.tickers.length);
  }
  if (first.length > 0 && settings.training.monitor === "ic") requireComparable(plan);
  const forecasting = joined.filter((panel) => hasLateForecasts(panel, lookback));
  return {
    plan,
    joined,
    failures: failuresWithout(
      forecasting,
      plan.excluded.map(({ code, message, data }) => ({ ticker: data.ticker!, code, message })),
    ),
    rows: rowsOf,
    unionAt,
  };
}

/** The candidates that take part in the network of a block beside the other tickers. */
function joiningMembers<P extends PanelRows>(
  others: readonly P[],
  candidates: readonly P[],
  block: number,
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): readonly P[] {
  let left = candidates;
  // Without the excluded tickers, the parts may start on other dates.
  while (left.length > 0) {
    const rows = rowsByBlock([...others, ...left], blocks, settings.window);
    const { members } = planOf(rows(block, block), settings);
    const taking = new Set(members.map(({ panel }) => panel.ticker));
    const kept = left.filter(({ ticker }) => taking.has(ticker));
    if (kept.length === left.length) break;
    left = kept;
  }
  return left;
}

function requireComparable({ members }: JointPlan<PanelRows>): void {
  const counts = new Map<Day, number>();
  for (const { panel, validate } of members) {
    for (const row of validate) counts.set(panel.days[row]!, (counts.get(panel.days[row]!) ?? 0) + 1);
  }
  const most = counts.values().reduce((a, b) => Math.max(a, b), 0);
  if (most >= MIN_DATE_TICKERS) return;
  throw new MucastError(
    "insufficient_history",
    `training_params.monitor is ic, which compares the tickers of a date, and no validation date has more than ${counted(most, "ticker")} ` +
      `with a label, at least ${MIN_DATE_TICKERS} are needed`,
    { advice: "Set `monitor` to loss, or add tickers." },
  );
}

/** One network per block for all tickers that can take part; none if no ticker can. @throws MucastError like planJointWindows. */
export function planJointNetwork(
  panels: readonly PanelOnDisk[],
  settings: DlSettings,
  workFolder: string,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
): NetworkPlan {
  const { plan, joined, unionAt, failures, rows } = planJointWindows(panels, settings, blocks);
  if (plan.members.length === 0) return { networks: [], joined: [], failures };
  const joins = new Map(joined.map((panel) => [panel.ticker, panel]));
  const job = {
    ...{ settings, workFolder, blocks, rows, unionAt },
    wholes: new Map(panels.map((panel) => [panel.ticker, joins.get(panel.ticker) ?? panel])),
    plan(given: readonly PanelOnDisk[]) {
      const own = planOf(given, settings);
      if (own.members.length === 0) throw own.excluded[0]!;
      if (settings.training.monitor === "ic") requireComparable(own);
      return own;
    },
  };
  const networks: PlannedNetwork[] = [];
  for (const [block] of blocks.entries()) {
    const network = new JointNetwork(job, block, block);
    if (block === 0 || network.begins.size > 0 || network.tickers.length > 0) networks.push(network);
  }
  const told = joined.filter((panel) => hasLateForecasts(panel, settings.lookback));
  return { networks, joined: told.map(({ ticker }) => ticker), failures };
}

/** @throws nothing: a ticker that cannot take part is excluded. */
export function planOf<P extends PanelRows>(
  panels: readonly P[],
  { lookback, calibrates, delay }: DlSettings,
): JointPlan<P> {
  return planJoint(panels, { lookback, calibrates, delay });
}
