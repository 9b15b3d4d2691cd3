import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { checkNetworkSize } from "../../contract/config/network-faults.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import { type FeatureUnion, uniteFeatures } from "../../panel/feature-union.ts";
import { type JointPlan, planJoint } from "../../panel/joint-plan.ts";
import { ONE_BLOCK, type RefitBlock } from "../../panel/refit-blocks.ts";
import { MIN_DATE_TICKERS } from "../../panel/relative-target.ts";
import { type RowsByBlock, rowsByBlock } from "../../panel/rows-by-block.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import type { PanelOnDisk } from "../shared/panel-files.ts";
import { JointNetwork } from "./joint-network.ts";
import type { NetworkPlan, PlannedNetwork } from "./planned-network.ts";

/** A joint network, planned. */
export interface JointWindows<P extends PanelRows> {
  /** Of the first block. */
  readonly plan: JointPlan<P>;
  /** Of the tickers that take part in the first block, for the networks of all blocks. */
  readonly union: FeatureUnion;
  readonly failures: readonly Failure[];
  /** All panels that were given. */
  readonly rows: RowsByBlock<P>;
}

/**
 * Which tickers take part in a joint network, on which dates, and with which features.
 * @throws MucastError invalid_request where the network is too large for the features of all; insufficient_history where early stopping
 *   watches the IC and no validation date has enough labels for one.
 */
export function* planJointWindows<P extends PanelRows>(
  panels: readonly P[],
  settings: DlSettings,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
): Pausable<JointWindows<P>> {
  const rows = rowsByBlock(panels, blocks, settings.window);
  const plan = yield* planOf(rows(0, 0), settings);
  const union = uniteFeatures(plan.members.map((member) => member.panel));
  const { length } = plan.members;
  if (length > 0) {
    checkNetworkSize(settings, union.names.length, length);
    if (settings.training.monitor === "ic") requireComparable(plan);
  }
  return { plan, union, failures: plan.excluded.map(failureOf), rows };
}

function planOf<P extends PanelRows>(
  panels: readonly P[],
  { lookback, intervals }: DlSettings,
): Pausable<JointPlan<P>> {
  return planJoint(panels, { lookback, calibrates: intervals !== undefined });
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
      `with a label, at least ${MIN_DATE_TICKERS} are needed: set monitor to loss, or add tickers`,
  );
}

function failureOf({ code, message, data }: MucastError): Failure {
  return { ticker: data.ticker!, code, message };
}

/** One network a block for all tickers that can take part; none where no ticker can. @throws MucastError as planJointWindows does. */
export function* planJointNetwork(
  panels: readonly PanelOnDisk[],
  settings: DlSettings,
  workFolder: string,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
): Pausable<NetworkPlan> {
  const { plan, union, failures, rows } = yield* planJointWindows(panels, settings, blocks);
  if (plan.members.length === 0) return { networks: [], failures };
  const taking = new Set(plan.members.map(({ panel }) => panel.ticker));
  const job = {
    ...{ settings, workFolder, blocks },
    union: { names: union.names, columns: columnsByTicker(plan, union) },
    warnings: Map.groupBy(union.warnings, ({ ticker }) => ticker),
    wholes: new Map(panels.map((panel) => [panel.ticker, panel])),
    rows: (learned: number, scored: number) =>
      rows(learned, scored).filter(({ ticker }) => taking.has(ticker)),
    *plan(given: readonly PanelOnDisk[]) {
      const own = yield* planOf(given, settings);
      if (own.members.length === 0) throw own.excluded[0]!;
      if (settings.training.monitor === "ic") requireComparable(own);
      return own;
    },
  };
  const networks: PlannedNetwork[] = [];
  for (const [block] of blocks.entries()) {
    yield 0;
    const network = new JointNetwork(job, block, block);
    if (block === 0 || network.tickers.length > 0) networks.push(network);
  }
  return { networks, failures };
}

function columnsByTicker({ members }: JointPlan, { columns }: FeatureUnion) {
  return new Map(members.map(({ panel }, j) => [panel.ticker, columns[j]!]));
}
