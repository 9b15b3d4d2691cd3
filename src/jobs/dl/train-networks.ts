import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import { EpochCount } from "./epoch-count.ts";
import { NetworkMembers } from "./network-members.ts";
import type { PlannedNetwork } from "./planned-network.ts";
import { type TrainOptions, trainEach } from "./train-network.ts";
import { trainStacks } from "./train-stacks.ts";
import { TrainedBlocks, type TrainOutcome } from "./trained-blocks.ts";

/**
 * Trains every network, as many at a time as the pool has workers, members of an ensemble in parallel; on GPUs in stacks, one at
 * a time on each. What a network learns depends neither on the others nor on when it is trained.
 * @param networks of all blocks.
 * @throws MucastError of the engine if it is not about one ticker, or if the network is the joint one of the first block.
 */
export async function trainNetworks(
  networks: readonly PlannedNetwork[],
  options: TrainOptions,
): Promise<TrainOutcome> {
  const count = new EpochCount(networks.length, options, options.report);
  const trained = new TrainedBlocks();
  trained.add(await trainAll(networks, options, count));
  trained.add(await trainAll(trained.takeStandIns(), options, count));
  options.timings.finishAll();
  return trained.outcome();
}

async function trainAll(
  networks: readonly PlannedNetwork[],
  options: TrainOptions,
  count: EpochCount,
): Promise<readonly NetworkMembers[]> {
  if (networks.length === 0) return [];
  const all = networks.map((network) => new NetworkMembers(network, options.ensemble));
  // The first network of each name comes first, because the later ones depend on it. Then the largest, so that no large one
  // remains for a single worker at the end.
  const queue = all.toSorted((a, b) => inOrder(a.network, b.network));
  const areJoint = queue.some(({ network }) => network.joint);
  if (options.device !== "cpu" && !areJoint) await trainStacks(queue, options, count);
  else await trainEach(queue, areJoint ? jointWidth(options) : singleWidth(queue, options), options, count);
  return queue.filter(({ hasBegun }) => hasBegun);
}

function inOrder(a: PlannedNetwork, b: PlannedNetwork): number {
  return (
    Number(b.isFirst) - Number(a.isFirst) ||
    b.size - a.size ||
    compareCodePoints(a.name, b.name) ||
    a.block - b.block
  );
}

/**
 * Members of a joint network at a time. Each holds the panel of all tickers, so there are only as many as fill the cores with
 * their threads, and on GPUs one on each.
 */
function jointWidth({ device, slots, threads, gpus }: TrainOptions): number {
  return device === "cpu" ? Math.max(1, Math.floor(slots / threads)) : gpus;
}

/** One task per ticker; with few tickers, enough that each slot has its next task waiting. */
function singleWidth(all: readonly NetworkMembers[], { slots }: TrainOptions): number {
  return Math.max(new Set(all.map(({ network }) => network.name)).size, 2 * slots);
}
