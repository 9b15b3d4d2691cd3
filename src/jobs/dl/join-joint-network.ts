import type { DlSettings } from "../../contract/config/dl-settings.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import { type JointPlan, planJoint } from "../../panel/joint-plan.ts";
import {
  hasTrainingWindows,
  joiningDates,
  type LateCandidate,
  type LateSource,
  lateCandidate,
} from "../../panel/late-network.ts";
import type { PlanRows } from "../../panel/late-ticker.ts";
import { firstBlock, type RefitBlock } from "../../panel/refit-blocks.ts";
import { type RowsByBlock, rowsByBlock } from "../../panel/rows-by-block.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import { featuresOf } from "../shared/late-tickers.ts";

/** What decides who takes part in the joint networks of a job. */
interface JointBlocks {
  readonly settings: DlSettings;
  readonly blocks: readonly RefitBlock[];
}

/** @throws nothing: a ticker that cannot take part is excluded. */
export function planOf<P extends PlanRows>(
  panels: readonly P[],
  { lookback, intervals }: DlSettings,
): Pausable<JointPlan<P>> {
  return planJoint(panels, { lookback, calibrates: intervals !== undefined });
}

/**
 * The panels of the tickers that take part in a network: those of the first block, and those that have joined by the block that it learns from.
 * @param panels all that were read, then those that join; `plan` of the first block.
 */
export function takingPart<P extends PlanRows>(
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

/** The tickers that may join, which have no other features than those that take part in the first block. */
export function candidatesOf<P extends PanelRows>(
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
 * The late tickers that join the joint networks, each at the first block whose network has enough of its labels to train on. Which tickers these
 * are depends on the rows of all that are known at the block's first date.
 */
export function* joinJoint<P extends PanelRows>(
  job: JointBlocks & { readonly panels: readonly P[]; readonly plan: JointPlan<P> },
  candidates: readonly LateCandidate<P>[],
): Pausable<P[]> {
  const joined: P[] = [];
  let waiting = candidates;
  for (const { block, known } of joiningDates(job.blocks)) {
    const shown = new Map<string, PlanRows>();
    for (const candidate of waiting) {
      yield 0;
      const rows = candidate.rowsAt(known);
      if (rows !== undefined && hasTrainingWindows(rows, job.settings.lookback))
        shown.set(candidate.ticker, rows);
    }
    const members = yield* membersAt(block, shown, joined, job);
    joined.push(...waiting.filter(({ ticker }) => members.has(ticker)).map(({ join }) => join(known)));
    waiting = waiting.filter(({ ticker }) => !members.has(ticker));
  }
  return joined;
}

/** Those of the candidates that take part in the network of a block beside the others. */
function* membersAt<P extends PanelRows>(
  block: number,
  candidates: ReadonlyMap<string, PlanRows>,
  joined: readonly P[],
  {
    panels,
    plan,
    settings,
    blocks,
  }: JointBlocks & { readonly panels: readonly P[]; readonly plan: JointPlan<P> },
): Pausable<ReadonlyMap<string, PlanRows>> {
  let left = candidates;
  // Without those that are left out the parts may begin on other dates.
  while (left.size > 0) {
    const rows = takingPart<PlanRows>([...panels, ...joined, ...left.values()], plan, { settings, blocks });
    const { members } = yield* planOf(rows(block, block), settings);
    const taking = new Set(members.map(({ panel }) => panel.ticker));
    const kept = new Map([...left].filter(([ticker]) => taking.has(ticker)));
    if (kept.size === left.size) break;
    left = kept;
  }
  return left;
}
