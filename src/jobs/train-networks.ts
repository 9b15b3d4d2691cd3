import { rmSync } from "node:fs";
import { compareCodePoints } from "../contract/code-points.ts";
import type { Failure } from "../contract/output-blob.ts";
import { Turns } from "../contract/turns.ts";
import type { EpochProgress } from "../engine/network-protocol.ts";
import { EpochCount } from "./epoch-count.ts";
import type { PlannedNetwork, TrainedTicker } from "./planned-network.ts";
import { trainStacks } from "./train-stacks.ts";
import {
  costsOneTicker,
  type Trained,
  type TrainingRecord,
  type TrainOptions,
  trainedNetwork,
} from "./trained-network.ts";

export interface TrainOutcome {
  /** Ascending by code point. */
  readonly trained: readonly TrainedTicker[];
  /** By ticker, or `portfolio`; ascending by code point. */
  readonly training: ReadonlyMap<string, TrainingRecord>;
  readonly failures: readonly Failure[];
}

/**
 * Trains every network, as many at a time as the pool has workers; on a GPU in stacks, one after the other. What a
 * network learns does not depend on the others, nor on when it is trained.
 * @throws MucastError of the engine where it is not about one ticker, or where the network is a joint one.
 */
export async function trainNetworks(
  networks: readonly PlannedNetwork[],
  options: TrainOptions,
): Promise<TrainOutcome> {
  const stop = new AbortController();
  const inner = { ...options, signal: AbortSignal.any([options.signal, stop.signal]) };
  const count = new EpochCount(networks.length, options.epochs, options.report);
  // The largest first, so that no worker is left alone with one at the end.
  const queue = networks.toSorted((a, b) => b.size - a.size || compareCodePoints(a.name, b.name));
  const alone = async (network: PlannedNetwork): Promise<[string, Trained][]> => [
    [network.name, await train(network, inner, count)],
  ];
  const stacks = options.device !== "cpu" && !queue.some(({ joint }) => joint);
  const running: Promise<[string, Trained][]>[] = [];
  const start = (training: Promise<[string, Trained][]>) => {
    running.push(training);
    training.catch((error: unknown) => stop.abort(error));
  };
  try {
    if (stacks) start(trainStacks(queue, inner, count));
    else {
      // Each writes its matrices as it starts.
      const turns = new Turns(inner.signal);
      for (const network of queue) {
        start(alone(network));
        await turns.giveWay();
      }
    }
    const trained = (await Promise.all(running)).flat();
    options.timings.endAll();
    return sortOutcome(trained);
  } finally {
    await Promise.allSettled(running);
  }
}

async function train(
  network: PlannedNetwork,
  { pool, device, threads, signal, timings }: TrainOptions,
  count: EpochCount,
): Promise<Trained> {
  const { name } = network;
  const { task, files } = await network.task({ device, threads, signal });
  try {
    const onProgress = (progress: EpochProgress) => count.epoch(name, progress);
    const result = await pool.run(task, { signal, onProgress });
    timings.add(name, result.seconds);
    timings.end(name);
    const trained = await trainedNetwork(network, result, signal);
    count.end(name);
    return trained;
  } catch (error) {
    if (network.joint || !costsOneTicker(error)) throw error;
    count.end(name);
    return { ticker: name, code: error.code, message: error.message };
  } finally {
    for (const file of files) rmSync(file, { force: true });
  }
}

function sortOutcome(done: readonly (readonly [string, Trained])[]): TrainOutcome {
  const trained: TrainedTicker[] = [];
  const training = new Map<string, TrainingRecord>();
  const failures: Failure[] = [];
  for (const [name, result] of done.toSorted(([a], [b]) => compareCodePoints(a, b))) {
    if ("code" in result) failures.push(result);
    else {
      trained.push(...result.tickers);
      training.set(name, result.record);
    }
  }
  return { trained, training, failures };
}
