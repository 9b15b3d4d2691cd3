import { compareCodePoints } from "../../contract/market/ticker-order.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import type { TrainingRecord } from "./ensemble.ts";
import { EpochCount } from "./epoch-count.ts";
import type { NamedResult } from "./network-members.ts";
import type { PlannedNetwork, TrainedTicker } from "./planned-network.ts";
import { type TrainOptions, trainEach } from "./train-network.ts";
import { trainStacks } from "./train-stacks.ts";

export interface TrainOutcome {
  /** Ascending by code point. */
  readonly trained: readonly TrainedTicker[];
  /** By ticker, or `portfolio`; ascending by code point. */
  readonly training: ReadonlyMap<string, TrainingRecord>;
  readonly failures: readonly Failure[];
}

/**
 * Trains every network, as many at a time as the pool has workers, members of an ensemble beside each other; on GPUs in
 * stacks, one at a time on each. What a network learns does not depend on the others, nor on when it is trained.
 * @throws MucastError of the engine where it is not about one ticker, or where the network is a joint one.
 */
export async function trainNetworks(
  networks: readonly PlannedNetwork[],
  options: TrainOptions,
): Promise<TrainOutcome> {
  const count = new EpochCount(networks.length, options, options.report);
  // The largest first, so that at the end no worker is alone with a large one.
  const queue = networks.toSorted((a, b) => b.size - a.size || compareCodePoints(a.name, b.name));
  const areJoint = queue.some(({ joint }) => joint);
  const results =
    options.device !== "cpu" && !areJoint
      ? await trainStacks(queue, options, count)
      : await trainEach(queue, areJoint ? jointWidth(options) : singleWidth(queue, options), options, count);
  options.timings.finishAll();
  return sortOutcome(results);
}

/**
 * Members of a joint network at a time. Each holds the panel of all tickers, so that there are no more than fill the cores with
 * their threads, and on GPUs one on each.
 */
function jointWidth({ device, slots, threads, gpus }: TrainOptions): number {
  return device === "cpu" ? Math.max(1, Math.floor(slots / threads)) : gpus;
}

/** A task a network, and of few networks so many that each slot has its next one waiting. */
function singleWidth(networks: readonly PlannedNetwork[], { slots }: TrainOptions): number {
  return Math.max(networks.length, 2 * slots);
}

function sortOutcome(results: readonly NamedResult[]): TrainOutcome {
  const trained: TrainedTicker[] = [];
  const training = new Map<string, TrainingRecord>();
  const failures: Failure[] = [];
  for (const [name, result] of results.toSorted(([a], [b]) => compareCodePoints(a, b))) {
    if ("code" in result) failures.push(result);
    else {
      trained.push(...result.tickers);
      training.set(name, result.record);
    }
  }
  return { trained, training, failures };
}
