import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { checkNetworkSize } from "../../contract/config/networks/network-faults.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { type FeatureUnion, uniteFeatures } from "../../panel/feature-union.ts";
import { type JointPlan, planJoint } from "../../panel/joint-plan.ts";
import {
  hasLateForecasts,
  hasTrainingWindows,
  joiningDates,
  type LateCandidate,
  type LateSource,
  lateCandidate,
  noLateTickers,
} from "../../panel/late-network.ts";
import type { PlanRows } from "../../panel/late-ticker.ts";
import {
  firstBlock,
  ONE_BLOCK,
  type RefitBlock,
  type RowsByBlock,
  rowsByBlock,
} from "../../panel/refit-blocks.ts";
import { MIN_DATE_TICKERS } from "../../panel/relative-target.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import { failuresWithout, featuresOf } from "../shared/late-tickers.ts";
import type { PanelOnDisk } from "../shared/panel-files.ts";
import { JointNetwork } from "./joint-network.ts";
import type { NetworkPlan, PlannedNetwork } from "./planned-network.ts";

/** A planned joint network. */
interface JointWindows<P extends PanelRows> {
  /** The plan of the first block. */
  readonly plan: JointPlan<P>;
  /** Late tickers that join, each with `joins`. */
  readonly joined: readonly P[];
  /**
   * The features of the tickers that take part in the first block, for the networks of all blocks; `columns` of these tickers,
   * then of those that join.
   */
  readonly union: FeatureUnion;
  readonly failures: readonly Failure[];
  /** The panels of the tickers that take part in a network. */
  readonly rows: RowsByBlock<P>;
}

/**
 * Which tickers take part in a joint network, on which dates, and with which features.
 * @throws MucastError invalid_request if the network is too large for the features of all; insufficient_history if early stopping
 * monitors the IC and no validation date has enough labels for one.
 */
export function planJointWindows<P extends PanelRows>(
  panels: readonly P[],
  settings: DlSettings,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
  late: LateSource<P> = noLateTickers(),
): JointWindows<P> {
  const plan = planOf(rowsByBlock(panels, blocks, settings.window)(0, 0), settings);
  const members = plan.members.map((member) => member.panel);
  if (members.length > 0) {
    checkNetworkSize(settings, uniteFeatures(members).names.length, members.length);
    if (settings.training.monitor === "ic") requireComparable(plan);
  }
  const joined =
    members.length === 0
      ? []
      : joinJoint({ panels, plan, settings, blocks }, candidatesOf(panels, plan, late));
  const union = uniteFeatures([...members, ...joined]);
  if (joined.length > 0) checkNetworkSize(settings, union.names.length, members.length + joined.length);
  const forecasting = joined.filter((panel) => hasLateForecasts(panel, settings.lookback));
  return {
    plan,
    joined,
    union,
    failures: failuresWithout(forecasting, plan.excluded.map(failureOf)),
    rows: takingPart([...panels, ...joined], plan, { settings, blocks }),
  };
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

function failureOf({ code, message, data }: MucastError): Failure {
  return { ticker: data.ticker!, code, message };
}

/** One network per block for all tickers that can take part; none if no ticker can. @throws MucastError like planJointWindows. */
export function planJointNetwork(
  panels: readonly PanelOnDisk[],
  settings: DlSettings,
  workFolder: string,
  blocks: readonly RefitBlock[] = ONE_BLOCK,
  late: LateSource<PanelOnDisk> = noLateTickers(),
): NetworkPlan {
  const { plan, joined, union, failures, rows } = planJointWindows(panels, settings, blocks, late);
  if (plan.members.length === 0) return { networks: [], joined: [], failures };
  const members = [...plan.members.map(({ panel }) => panel), ...joined];
  const job = {
    ...{ settings, workFolder, blocks, rows },
    union: { names: union.names, columns: columnsByTicker(members, union) },
    warnings: Map.groupBy(union.warnings, ({ ticker }) => ticker),
    wholes: new Map([...panels, ...joined].map((panel) => [panel.ticker, panel])),
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

function columnsByTicker(panels: readonly PanelRows[], { columns }: FeatureUnion) {
  return new Map(panels.map(({ ticker }, j) => [ticker, columns[j]!]));
}

/** What decides which tickers take part in the joint networks of a job. */
interface JointBlocks {
  readonly settings: DlSettings;
  readonly blocks: readonly RefitBlock[];
}

/** @throws nothing: a ticker that cannot take part is excluded. */
export function planOf<P extends PlanRows>(
  panels: readonly P[],
  { lookback, calibrates, delay }: DlSettings,
): JointPlan<P> {
  return planJoint(panels, { lookback, calibrates, delay });
}

/**
 * The panels of the tickers that take part in a network: the tickers of the first block, and those that have joined by the block
 * that it learns from.
 * @param panels all that were read, then those that join. @param plan of the first block.
 */
function takingPart<P extends PlanRows>(
  panels: readonly P[],
  plan: JointPlan<PlanRows>,
  { settings, blocks }: JointBlocks,
): RowsByBlock<P> {
  const first = new Set(plan.members.map(({ panel }) => panel.ticker));
  const rows = rowsByBlock(panels, blocks, settings.window);
  return (learned, scored) =>
    rows(learned, scored).filter((panel) =>
      panel.joins === undefined ? first.has(panel.ticker) : firstBlock(panel, blocks) <= learned,
    );
}

/** The tickers that may join: they have no features that the tickers of the first block lack. */
function candidatesOf<P extends PanelRows>(
  panels: readonly P[],
  plan: JointPlan<P>,
  late: LateSource<P>,
): LateCandidate<P>[] {
  const members = plan.members.map(({ panel }) => panel);
  const columns = new Set(members.flatMap((panel) => panel.columns));
  const first = new Set(members.map(({ ticker }) => ticker));
  const excluded = panels.filter(
    ({ ticker, columns: own }) => !first.has(ticker) && own.some((c) => columns.has(c)),
  );
  return [
    ...late.candidates(featuresOf(members)),
    ...excluded.map((panel) => {
      const candidate = lateCandidate(panel);
      return { ...candidate, join: (known: number) => late.withColumns(candidate.join(known), columns) };
    }),
  ];
}

/**
 * The late tickers that join the joint networks, each at the first block whose network can train on enough of its labels. Which
 * tickers join depends on all rows that are known at the block's first date.
 */
function joinJoint<P extends PanelRows>(
  job: JointBlocks & { readonly panels: readonly P[]; readonly plan: JointPlan<P> },
  candidates: readonly LateCandidate<P>[],
): P[] {
  const joined: P[] = [];
  let waiting = candidates;
  for (const { block, known } of joiningDates(job.blocks)) {
    const shown = new Map<string, PlanRows>();
    for (const candidate of waiting) {
      const rows = candidate.rowsAt(known);
      if (rows !== undefined && hasTrainingWindows(rows, job.settings.lookback))
        shown.set(candidate.ticker, rows);
    }
    const members = membersAt(block, shown, joined, job);
    joined.push(...waiting.filter(({ ticker }) => members.has(ticker)).map(({ join }) => join(known)));
    waiting = waiting.filter(({ ticker }) => !members.has(ticker));
  }
  return joined;
}

/** The candidates that take part in the network of a block beside the other tickers. */
function membersAt<P extends PanelRows>(
  block: number,
  candidates: ReadonlyMap<string, PlanRows>,
  joined: readonly P[],
  {
    panels,
    plan,
    settings,
    blocks,
  }: JointBlocks & { readonly panels: readonly P[]; readonly plan: JointPlan<P> },
): ReadonlyMap<string, PlanRows> {
  let left = candidates;
  // Without the excluded tickers, the parts may start on other dates.
  while (left.size > 0) {
    const rows = takingPart<PlanRows>([...panels, ...joined, ...left.values()], plan, { settings, blocks });
    const { members } = planOf(rows(block, block), settings);
    const taking = new Set(members.map(({ panel }) => panel.ticker));
    const kept = new Map([...left].filter(([ticker]) => taking.has(ticker)));
    if (kept.size === left.size) break;
    left = kept;
  }
  return left;
}
