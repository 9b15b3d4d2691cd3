import { Turns } from "../../contract/machine/pausable.ts";
import type { Report } from "../../contract/output/job-events.ts";
import type { EpochProgress } from "../../engine/pool/network-protocol.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import { runEach } from "../shared/run-concurrently.ts";
import type { FitTimings } from "../shared/timings.ts";
import type { EpochCount } from "./epoch-count.ts";
import { type Member, membersInTurn, type NamedResult, NetworkMembers } from "./network-members.ts";
import type { PlannedNetwork } from "./planned-network.ts";
import { costsOneTicker } from "./ticker-errors.ts";

export interface TrainOptions {
  readonly pool: EnginePool;
  /** As the engine resolved it. */
  readonly device: string;
  /** Threads that each member of a joint network may use. */
  readonly threads: number;
  /** Tasks of one thread at a time. */
  readonly slots: number;
  /** Stacks, or members of a joint network, at a time on GPUs. */
  readonly gpus: number;
  /** The most that a network trains. */
  readonly epochs: number;
  /** Members of each network; 1 of networks that are alone. */
  readonly ensemble: number;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly timings: FitTimings;
}

/**
 * Trains networks, each member in a task of its own, in their order. Where a member fails, its network does.
 * @param width tasks that are trained or wait in the pool at a time.
 * @throws MucastError of the engine where it is not about one ticker, or where the network is a joint one.
 */
export async function trainEach(
  networks: readonly PlannedNetwork[],
  width: number,
  options: TrainOptions,
  count: EpochCount,
): Promise<readonly NamedResult[]> {
  const { ensemble } = options;
  const all = networks.map((network) => new NetworkMembers(network, ensemble));
  const waiting = membersInTurn(all);
  await runEach(options.signal, async (start, signal) => {
    const turns = new Turns(signal);
    for (let lane = 0; lane < Math.min(width, networks.length * ensemble); lane++) {
      start(trainWaiting(waiting, { ...options, signal }, count));
      await turns.pauseIfOver(); // Each network writes its matrices as it starts.
    }
  });
  return all.map(({ named }) => named);
}

/** Trains the next member that waits, until none does. */
async function trainWaiting(
  waiting: Iterable<Member>,
  options: TrainOptions,
  count: EpochCount,
): Promise<void> {
  for (const next of waiting) await trainMember(next, options, count);
}

async function trainMember(next: Member, options: TrainOptions, count: EpochCount): Promise<void> {
  const { of, member } = next;
  const { name } = of.network;
  const { pool, device, threads, signal, timings } = options;
  const task = await of.task(member, { device, threads, signal });
  const onProgress = (progress: EpochProgress) => count.epoch(name, member, progress);
  const result = await pool.run(task, { signal, onProgress }).catch((error: unknown) => {
    if (!costsOneTicker(error)) throw error;
    return error;
  });
  if ("code" in result) await of.fail(member, result);
  else {
    timings.add(name, result.seconds);
    await of.finish(member, result, signal);
  }
  reportEnd(next, options, count);
}

/** Reports that a member has ended; members that never begin count as done once their network has failed. */
export function reportEnd(
  { of, member }: Member,
  { timings }: Pick<TrainOptions, "timings">,
  count: EpochCount,
): void {
  const { name, joint } = of.network;
  if (of.hasFailed && joint) return; // The job fails.
  count.finish(name, member);
  if (!of.isDone) return;
  timings.finish(name);
  if (of.hasFailed) count.finishAll(name);
}
