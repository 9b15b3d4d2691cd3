import { rmSync } from "node:fs";
import type { StackProgress, TrainNetworkTask } from "../engine/network-protocol.ts";
import type { EpochCount } from "./epoch-count.ts";
import type { PlannedNetwork } from "./planned-network.ts";
import { costsOneTicker, type Trained, type TrainOptions, trainedNetwork } from "./trained-network.ts";

/** Networks of one task; a worker that dies costs no more of them. */
export const LARGEST_STACK = 64;

/**
 * Trains networks of single tickers in stacks, one after the other.
 * @returns name and outcome of each.
 * @throws MucastError of the engine where it is not about one ticker.
 */
export async function trainStacks(
  networks: readonly PlannedNetwork[],
  options: TrainOptions,
  count: EpochCount,
): Promise<[string, Trained][]> {
  const done: [string, Trained][] = [];
  for (let first = 0; first < networks.length; first += LARGEST_STACK) {
    const stack = networks.slice(first, first + LARGEST_STACK);
    const trained = await trainStack(stack, options, count);
    for (const [index, { name }] of stack.entries()) {
      count.end(name);
      done.push([name, trained[index]!]);
    }
  }
  return done;
}

async function trainStack(
  stack: readonly PlannedNetwork[],
  { pool, device, threads, signal, timings }: TrainOptions,
  count: EpochCount,
): Promise<readonly Trained[]> {
  const written = stack.map((network) => network.task({ device, threads }));
  const networks = written.map(({ task }) => task as TrainNetworkTask);
  try {
    const onProgress = (progress: StackProgress) => count.epoch(progress.ticker, progress);
    const { results } = await pool.run({ task: "train_stack", networks, device }, { signal, onProgress });
    return stack.map((network, index) => {
      const result = results[index]!;
      if (!("code" in result)) {
        timings.add(network.name, result.seconds);
        timings.end(network.name);
        return trainedNetwork(network, result);
      }
      return { ticker: network.name, code: result.code, message: `${network.name}: ${result.message}` };
    });
  } catch (error) {
    if (!costsOneTicker(error)) throw error;
    return stack.map(({ name }) => ({
      ticker: name,
      code: error.code,
      message: `${name}: ${error.message}`,
    }));
  } finally {
    for (const file of written.flatMap(({ files }) => files)) rmSync(file, { force: true });
  }
}
