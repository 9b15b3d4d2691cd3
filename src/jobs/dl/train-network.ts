import type { Report } from "../../contract/output/job-events.ts";
import type { Failure } from "../../contract/problems/failures.ts";
import type { EpochProgress, TrainResult } from "../../engine/pool/network-protocol.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import type { FitTimings } from "../shared/timings.ts";
import { memberTask, removeFiles, type TrainedNetwork, trainedNetwork } from "./ensemble.ts";
import type { EpochCount } from "./epoch-count.ts";
import type { PlannedNetwork } from "./planned-network.ts";
import { costsOneTicker } from "./ticker-errors.ts";

export interface TrainOptions {
  readonly pool: EnginePool;
  /** As the engine resolved it. */
  readonly device: string;
  /** Threads that a joint network may use. */
  readonly threads: number;
  /** Stacks at a time. */
  readonly gpus: number;
  /** The most that a network trains. */
  readonly epochs: number;
  /** Members of each network; 1 of networks that are alone. */
  readonly ensemble: number;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly timings: FitTimings;
}

/** The name of a network, and what was trained or why its ticker failed. */
export type NamedResult = readonly [name: string, result: TrainedNetwork | Failure];

/**
 * Trains one network, each member of its ensemble in a task of its own. Where a member fails, its network does.
 * @throws MucastError of the engine where it is not about one ticker, or where the network is a joint one.
 */
export async function trainNetwork(
  network: PlannedNetwork,
  { pool, device, threads, ensemble, signal, timings }: TrainOptions,
  count: EpochCount,
): Promise<NamedResult> {
  const { name } = network;
  const { task, files } = await network.task({ device, threads, signal });
  const tasks = Array.from({ length: ensemble }, (_, member) => memberTask(task, member, ensemble));
  try {
    const results = await runMembers(ensemble, signal, async (member, inner): Promise<TrainResult> => {
      const onProgress = (progress: EpochProgress) => count.epoch(name, member, progress);
      const result = await pool.run(tasks[member]!, { signal: inner, onProgress });
      timings.add(name, result.seconds);
      count.finish(name, member);
      return result;
    });
    timings.finish(name);
    return [name, await trainedNetwork(network, results, signal)];
  } catch (error) {
    if (network.joint || !costsOneTicker(error)) throw error;
    count.finishAll(name);
    return [name, { ticker: name, code: error.code, message: error.message }];
  } finally {
    removeFiles([...files, ...tasks.map(({ predictions }) => predictions.ref)]);
  }
}

/**
 * Runs all members at the same time. One that fails aborts those after it, and the error of the first that fails is thrown,
 * so that it is the same whichever was there first. An error that is not about a ticker aborts all.
 * @returns what each member has left, once none runs any more.
 */
export async function runMembers<T>(
  ensemble: number,
  signal: AbortSignal,
  run: (member: number, signal: AbortSignal) => Promise<T>,
): Promise<T[]> {
  if (ensemble === 1) return [await run(0, signal)];
  const faults = Array.from({ length: ensemble }, () => new AbortController());
  const running = faults.map(async (fault, member) => {
    try {
      return await run(member, AbortSignal.any([signal, fault.signal]));
    } catch (error) {
      const from = costsOneTicker(error) ? member + 1 : 0;
      for (const other of faults.slice(from)) other.abort(error);
      throw error;
    }
  });
  await Promise.allSettled(running);
  const results: T[] = [];
  for (const one of running) results.push(await one);
  return results;
}
